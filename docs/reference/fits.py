# SPDX-License-Identifier: Apache-2.0
"""usage: fits.py PROGRAM fitted|removed

Prints a table of docs/reference/model.md, section 11: today's fit of every fitted number beside the value in use, or the
errors of all measured rows if a number that was removed or replaced were put back.
"""
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(sys.argv[1])
GEMM = "ss.gemm.efficiency."
H800 = "the H800 rows of runs.csv with quality ok"
# What is measured (flags of calibrate), on which rows in words, numbers with their bounds
FITS = (
    ("--platform h800 --stack megatron-2407 --rows runs", H800,
     (("H800, H100", GEMM + "bf16", "0.71:0.786"), ("megatron-2407", "ss.loss.forward_bytes", "38:80"))),
    ("--platform h800 --stack megatron-2407 --rows runs", "their memory, as the table tells the rows",
     (("all", "ss.memory.nccl_per_group", "0B:20GB"), ("all", "ss.memory.fragmentation", "0:0.5"))),
    ("--platform h20 --stack nemo-24.03 --rows runs", "the H20 rows of runs.csv with quality ok or inferred-precision",
     (("H20", GEMM + "fp32", "0.3:0.98"), ("H20", GEMM + "bf16", "0.6:0.98"),
      ("all", "ss.attention.unfused.fp32_backward", "2:40"))),
    ("--platform v100 --stack megatron-2021 --rows runs --timer-rows gpt2-timers --timers",
     "gpt2-01, gpt2-02 and their timers of 1 % of the iteration or more",
     (("V100", GEMM + "fp16", "0.3:0.98"), ("megatron-2021", "ss.host.operator", "1us:300us"),
      ("megatron-2021", "ss.microbatch.fixed", "0s:20ms"))),
    ("--platform v100 --stack megatron-2021 --rows runs", "memory of gpt2-01, one row",
     (("megatron-2021", "ss.memory.context", "0B:20GB"),)),
    ("--platform h100 --microbench validation/microbench.csv", "bf16 GEMMs and all-reduces of H100 alone on the card",
     (("Hopper", "ss.gemm.k_prologue", "52:471"), ("Hopper", "ss.gemm.small_tile", "0.5:1"),
      ("all", "ss.kernel_latency", "1.9us:17us"), ("", GEMM + "bf16", "0.4:1"))),
    ("--platform a100 --microbench validation/microbench-2.csv", "fp16 GEMMs of A100 alone on the card",
     (("A100", GEMM + "fp16", "0.2:1"),)),
    ("--platform h100-hbm2e-500w --microbench validation/h100-500w.csv", "six GEMMs under 500 W",
     (("h100-hbm2e-500w", GEMM + "bf16", "0.2:1"), ("h100-hbm2e-500w", GEMM + "fp8", "0.2:1"))),
)
H100 = "platforms/cards/h100.xml"
H100_500W = "platforms/cards/h100-hbm2e-500w.xml"
STACK = "workloads/stacks/megatron-2407.xml"
# Number; before; now; source of what is now; files to change: path, prop, card, value
REMOVED = (
    ("`ss.fp8.forward_gain` (assumed)", "1.1", "1", "no fp8 GEMM of the tables reaches 0.74 of the peak; with it the forward had 0.80",
     ((STACK, "ss.fp8.forward_gain", None, "1.1"),)),
    ("H100, H200, H800 `ss.gemm.efficiency.fp8` (fitted, at its bound)", "0.73", "0.71", "ten cuBLASLt GEMMs of H100 and H200",
     ((H100, GEMM + "fp8", None, "0.73"),)),
    ("megatron-2407 `ss.attention.flash.backward` (fitted; of a full card)", "0.240", "0.307", "measured alone on the card",
     ((STACK, "ss.attention.flash.backward", None, "0.240"),)),
    ("`ss.loss.forward_bytes` of stacks with a fused loss", "as megatron-2407 (fitted)", "38, NeMo 22", "by count",
     (("workloads/stacks/nemo-24.11.xml", "ss.loss.forward_bytes", None, "68"),
      ("workloads/stacks/llm-foundry-2023.xml", "ss.loss.forward_bytes", None, "68"))),
    ("megatron-2407 `ss.loss.forward_bytes`, were it by count", "38", "68, fitted", "docs/design/calibration-log.md",
     ((STACK, "ss.loss.forward_bytes", None, "38"),)),
    ("`ss.tp.overlap_sms` on H100 and H200 (fitted on H800)", "22", "16", "Transformer Engine's default",
     ((STACK, "ss.tp.overlap_sms", "H100", "22"), (STACK, "ss.tp.overlap_sms", "H200", "22"))),
    ("the same on H800, were it the library's", "16", "17, fitted", "the H800 rows, whose NVLink is 200 GB/s",
     ((STACK, "ss.tp.overlap_sms", "H800", "16"),)),
    ("H800, H100 `ss.gemm.efficiency.bf16` (fitted)", "0.775", "0.746", "fitted within what kernels allow",
     ((H100, GEMM + "bf16", None, "0.775"),)),
    ("h100-hbm2e-500w GEMMs in bf16 and fp8 (0.861 of a 700 W card's: H100 PCIe of 350 W over SXM, an SM)", "0.644, 0.611", "0.597, 0.587",
     "six GEMMs at 500 W",
     ((H100_500W, GEMM + "bf16", None, "0.644"), (H100_500W, GEMM + "fp8", None, "0.611"))),
    ("h100-hbm2e-500w attention (as at 700 W)", "-", "0.746", "its products as GEMMs, section 3",
     ((H100_500W, "ss.attention.gemm_level", None, "0.597"),)),
)


def run(words, env=None):
    answer = subprocess.run([PROGRAM] + words, cwd=ROOT, env=env, check=True, capture_output=True, text=True)
    return answer.stdout


def fitted():
    print("| number | of | in use | today's fit | bounds | on |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for at, (flags, rows, props) in enumerate(FITS):
            words = flags.split()
            for _, prop, bounds in props:
                words += ["--prop", "%s=%s" % (prop, bounds)]
            words += ["-o", os.path.join(folder, "%d.xml" % at)]
            if "--stack" in words:
                words += ["--stack-output", os.path.join(folder, "%d-stack.xml" % at)]
            text = run(["calibrate"] + words)
            for owner, prop, bounds in props:
                match = re.search(r"^  %s +(\S+) -> +(\S+)(?: \+- (\S+))?" % re.escape(prop), text, re.M)
                if owner: # the level on a bench is free beside the others and not what is in use
                    print("| `%s` | %s | %s | %s%s | %s | %s |" % (prop, owner, match[1], match[2], " ± " + match[3] if match[3] else "",
                                                               bounds.replace(":", " .. "), rows))


def edited(folder, path, prop, card, value):
    """A copy of a card or stack in the folder with another value of a prop."""
    copy = os.path.join(folder, path)
    source = copy if os.path.exists(copy) else os.path.join(ROOT, path)
    with open(source, encoding="utf-8") as f:
        text = f.read()
    line = '<prop id="%s"%s value="%s"/>' % (prop, ' card="%s"' % card if card else "", value)
    old = re.compile(r'<prop id="%s"%s value="[^"]*"/>' % (re.escape(prop), ' card="%s"' % card if card else ""))
    text = old.sub(line, text) if old.search(text) else re.sub(r"(</(stack|card)>)", "  %s\n\\1" % line, text)
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    with open(copy, "w", encoding="utf-8") as f:
        f.write(text)


def errors(folder):
    """Cells: mean of the H800 rows; mean and median of the dense foreign rows; bias of fp8 on H100."""
    rows = []
    for table in ("runs", "foreign"):
        name = os.path.join(folder, "all.csv")
        run(["validate", table, "--csv", name], dict(os.environ, STEPSIM_DATA=folder))
        with open(name, encoding="utf-8") as f:
            rows += [(table, r) for r in csv.DictReader(f) if r["error_pct"]]
        os.unlink(name)
    own = [float(r["error_pct"]) for t, r in rows if t == "runs" and r["platform"] == "h800" and r["quality"] == "ok"]
    others = [r for t, r in rows if t == "foreign" and r["quality"] in ("A", "B") and int(r["experts"] or 0) <= 1]
    fp8 = [float(r["error_pct"]) for r in others if r["precision"] == "fp8" and r["platform"] == "h100"]
    off = [abs(float(r["error_pct"])) for r in others]
    tt = [abs(float(r["error_pct"])) for r in others if r["platform"] == "h100-hbm2e-500w"]
    return ["%.2f" % statistics.mean(abs(e) for e in own), "%.2f" % statistics.mean(off), "%.2f" % statistics.median(off),
            "%+.2f" % statistics.mean(fp8), "%.2f" % statistics.mean(tt)]


def removed():
    print("| number | before | now | source of what is now | H800 mean % | dense foreign mean % | median | fp8 on H100, bias | torchtitan mean % |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "platforms"))
        print("| as it is | | | | %s |" % " | ".join(errors(folder)))
    for number, before, now, source, changes in REMOVED:
        with tempfile.TemporaryDirectory() as folder:
            for change in changes:
                edited(folder, *change)
            print("| %s | %s | %s | %s | %s |" % (number, before, now, source, " | ".join(errors(folder))))


{"fitted": fitted, "removed": removed}[sys.argv[2]]()

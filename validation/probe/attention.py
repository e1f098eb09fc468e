#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the flash and the cuDNN attention of PyTorch on one GPU, at the heads of the models in
workloads/models, and adds the rows to a table like validation/microbench.csv: causal, bf16, forward and
backward, TFLOP/s of the causal half of the square (backward 2.5 times the forward's)."""
import argparse
import csv
import datetime
import glob
import json
import os
import statistics
import sys
import time

COLUMNS = ["kind", "gpu", "shape_or_bytes", "ranks/nodes", "precision", "measured value", "unit", "source"]
TOKENS = (2048, 4096, 8192, 16384)
BATCHES = 9
WARM_UP_S, BATCH_S = 0.05, 0.005
BACKENDS = (("FA2", "FLASH_ATTENTION"), ("cuDNN", "CUDNN_ATTENTION"))


def fail(message):
    print("stepsim-attention: error: " + message, file=sys.stderr)
    sys.exit(3)


def shapes(folder):
    """Heads, groups and head dimension of one rank of every model at tp 1 to 8."""
    found = set()
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path, encoding="utf-8") as f:
            model = json.load(f)
        heads = model.get("num_attention_heads") or model["n_head"]
        groups = model.get("num_key_value_heads") or heads
        head = model.get("head_dim") or (model.get("hidden_size") or model["n_embd"]) // heads
        found |= {(heads // tp, max(1, groups // tp), head) for tp in (1, 2, 4, 8) if heads % tp == 0}
    if not found:
        fail("%s: no models there: run it in stepsim's source folder" % folder)
    return sorted(found)


def read_table(path, gpu):
    """Rows of the table so far, which are this GPU's; none if there is none."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f))
    if rows and rows[0] != COLUMNS:
        fail("%s:1: its columns are not those of validation/microbench.csv: name another file with -o" % path)
    for row in rows[1:]:
        if len(row) != len(COLUMNS) or row[1] != gpu:
            fail("%s: measured on %s, this is %s: name another file with -o" % (path, row[1:2], gpu))
    return rows[1:]


def write_table(path, rows):
    """Whole or not at all."""
    temporary = "%s.tmp.%d" % (path, os.getpid())
    with open(temporary, "w", encoding="utf-8", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([COLUMNS] + rows)
    os.replace(temporary, path)


def seconds_of(torch, run):
    """Seconds of one run in each of BATCHES batches, behind a warm-up."""
    start, count = time.monotonic(), 0
    while time.monotonic() - start < WARM_UP_S or count < 3:
        run()
        torch.cuda.synchronize()
        count += 1
    launches = max(1, int(count * BATCH_S / (time.monotonic() - start)))
    out = []
    for _ in range(BATCHES):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(launches):
            run()
        end.record()
        torch.cuda.synchronize()
        out.append(begin.elapsed_time(end) * 1e-3 / launches)
    return out


def measure(torch, backend, heads, groups, head, tokens):
    """Seconds of forward and of backward, by batch."""
    attention = torch.nn.functional.scaled_dot_product_attention

    def tensor(n):
        return torch.randn(1, n, tokens, head, device="cuda", dtype=torch.bfloat16, requires_grad=True)

    q, k, v = tensor(heads), tensor(groups), tensor(groups)
    with torch.nn.attention.sdpa_kernel(getattr(torch.nn.attention.SDPBackend, backend)):
        out = attention(q, k, v, is_causal=True, enable_gqa=groups < heads)
        gradient = torch.randn_like(out)

        def forward():
            with torch.no_grad():
                attention(q, k, v, is_causal=True, enable_gqa=groups < heads)

        def backward():
            torch.autograd.grad(out, (q, k, v), gradient, retain_graph=True)

        return seconds_of(torch, forward), seconds_of(torch, backward)


def row_of(gpu, shape, flop, samples, about):
    quartiles = statistics.quantiles(samples, n=4)
    median = statistics.median(samples)
    source = "stepsim probe: %s, median of %d, quartiles %.1f %% apart, %s" % (
        about, len(samples), 100 * (quartiles[2] - quartiles[0]) / median,
        datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"))
    return ["attention", gpu, shape, "1 GPU", "bf16", "%.6g" % (flop / median / 1e12), "TFLOP/s", source]


def driver_version():
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as f:
            words = f.readline().split()
    except OSError:
        return "unknown"
    return next((w for w in words if w[0].isdigit()), "unknown")


def items(folder):
    for name, backend in BACKENDS:
        for heads, groups, head in shapes(folder):
            for tokens in TOKENS:
                yield name, backend, heads, groups, head, tokens


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.replace("\n", " "))
    parser.add_argument("-o", "--output", default="probe.csv", help="table that the rows are added to (%(default)s)")
    parser.add_argument("--models", default=os.path.join(here, "..", "..", "workloads", "models"),
                        help="folder of models (workloads/models)")
    parser.add_argument("--list", action="store_true", help="only says what would be measured")
    words = parser.parse_args()
    todo = list(items(words.models))
    if words.list:
        print("\n".join("%s b=1 seq=%d hq=%d hkv=%d d=%d causal" % (n, t, h, g, d) for n, _, h, g, d, t in todo))
        return 0
    try:
        import torch
    except ImportError:
        fail("PyTorch is not installed: install it, version 2.5 or later, for the GPU's CUDA")
    if not hasattr(getattr(torch.nn, "attention", None), "sdpa_kernel"):
        fail("PyTorch %s cannot choose its attention: install version 2.5 or later" % torch.__version__)
    if not torch.cuda.is_available():
        fail("no GPU that PyTorch can use: see with nvidia-smi that there is one")
    gpu = torch.cuda.get_device_name()
    about = "driver %s, CUDA %s, PyTorch %s, cuDNN %s" % (
        driver_version(), torch.version.cuda, torch.__version__, torch.backends.cudnn.version())
    rows = read_table(words.output, gpu)
    known = {r[2] for r in rows if r[0] == "attention"}
    left_out = {}
    try:
        for name, backend, heads, groups, head, tokens in todo:
            shape = "b=1 seq=%d hq=%d hkv=%d d=%d causal" % (tokens, heads, groups, head)
            names = ["%s %s %s" % (name, way, shape) for way in ("fwd", "bwd")]
            if known.issuperset(names):
                continue
            try:
                samples = measure(torch, backend, heads, groups, head, tokens)
            except RuntimeError as e:  # the library has no kernel for this card or shape, or no memory
                left_out.setdefault(name, []).append("%s: %s" % (shape, str(e).split("\n")[0]))
                continue
            flop = 2.0 * tokens * tokens * heads * head
            rows += [row_of(gpu, n, f * flop, s, about)
                     for n, f, s in zip(names, (1, 2.5), samples) if n not in known]
            write_table(words.output, rows)
            if sys.stderr.isatty():
                print("\r%-70s" % names[0], end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("stepsim-attention: interrupted; the same command goes on", file=sys.stderr)
        return 130
    for name, why in left_out.items():
        print("stepsim-attention: note: %s left out %d times, first %s" % (name, len(why), why[0]), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

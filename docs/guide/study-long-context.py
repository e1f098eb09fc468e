#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Full, hybrid and sparse attention from 4,096 to 1,048,576 tokens: time, memory and context ranks on H100, H800, H20 and GB200.

    python3 docs/guide/study-long-context.py [PROGRAM] > docs/guide/study-long-context.md
"""
import json
import os
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROGRAM = os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "build", "stepsim"))
TOKENS = 1 << 24  # of a step
LENGTHS = tuple(1 << n for n in (12, 15, 17, 19, 20))
CLUSTERS = (("h100", 16), ("h800", 16), ("h20", 16), ("gb200", 32))
MODELS = (("qwen3-30b-a3b", "full attention"), ("qwen3.5-35b-a3b", "3 of 4 layers gated delta nets"), ("nemotron-3-nano-30b-a3b", "23 Mamba-2, 6 attention, 23 expert layers"))
COMMON = ("--recipe none --stack megatron-bridge-26.06 --bf16 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather "
          "--moe-load balanced --moe-token-dispatcher-type alltoall --moe-grouped-gemm --moe-permute-fusion")
SMALL = "--ep 8"
LARGE = "--pp 8 --decoder-first-pipeline-num-layers 7 --decoder-last-pipeline-num-layers 6 --ep 32 --cp-comm-type allgather"


def best(platform, nodes, model, length, words, ranks):
    """The fastest of these context ranks and three micro batches, with and without recompute, that fits: (s, flags, GiB); None: none fits."""
    run = subprocess.run([PROGRAM, "sweep", "--platform", platform, "--nodes", str(nodes), "--model", model, *COMMON.split(), *words.split(), "--seq", str(length),
                          "--gbs", str(TOKENS // length), "--vary", "cp=" + ",".join(map(str, ranks)), "--vary", "mbs=1,2,4", "--vary", "recompute=none,full", "--json"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
    rows = json.loads(run.stdout)["rows"] if run.stdout else []
    refused = [p["reason"] for p in rows if p["verdict"] not in ("fits", "near limit", "too large") and "global batch" not in p["reason"]]
    if refused or not rows:
        sys.exit("%s: %s" % (" ".join(run.args), (refused or [run.stderr])[0]))
    fits = [(p["iteration_ms"] / 1000, p["flags"], p["peak_mib"] / 1024) for p in rows if p["verdict"] == "fits"]
    return min(fits, key=lambda f: f[0]) if fits else None


def line(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def head(*cells):
    print()
    line(*cells)
    print("|---" * len(cells) + "|")


def cell(answer, gpus):
    if not answer:
        return "none fits"
    s, flags, gib = answer
    return "%.0f (cp %s mbs %s%s, %.0f GiB)" % (TOKENS / s / gpus, flags["--cp"], flags["--mbs"], " recompute" if flags["--recompute"] == "full" else "", gib)


def main():
    print("""# What a long context costs: full, hybrid and sparse attention

Made by `python3 docs/guide/study-long-context.py`. A step has 16,777,216 tokens; bf16, experts in even shares. Each cell has the fastest that fits of 1 to 16 context ranks, micro batches of 1, 2 and 4, and all layers recomputed or none: tokens a second and GPU, context ranks, memory of the largest stage. No run of such a length stands behind it: kernels of the forward are as long as public tables say, those of the backward are counted
([curves](../design/curves.md), [mixers](../design/mixers.md)).

## 30 billion parameters, 3 billion active, on 128 GPUs

Expert parallelism 8. """ + "; ".join("%s: %s" % m for m in MODELS) + ".")
    rate = {}
    for platform, nodes in CLUSTERS:
        gpus = nodes * (4 if platform.startswith("gb") else 8)
        print("\n### %s" % platform.upper())
        head("tokens of a sequence", *(m for m, _ in MODELS))
        for length in LENGTHS:
            answers = [best(platform, nodes, m, length, SMALL, (1, 2, 4, 8, 16)) for m, _ in MODELS]
            for (m, _), a in zip(MODELS, answers):
                rate[platform, m, length] = TOKENS / a[0] / gpus if a else 0
            line("{:,}".format(length), *(cell(a, gpus) for a in answers))
    print("""
## How much faster a hybrid is

Tokens a second over those of full attention (%s).""" % MODELS[0][0])
    head("cluster", "model", *("{:,}".format(length) for length in LENGTHS))
    for platform, _ in CLUSTERS:
        for m, _ in MODELS[1:]:
            full = MODELS[0][0]
            line(platform, m, *("%.1f" % (rate[platform, m, n] / rate[platform, full, n]) if rate[platform, full, n] and rate[platform, m, n] else "-" for n in LENGTHS))
    print("""
## 8 or 16 nodes of H20

Seconds of a step of the same tokens.""")
    head("model", "tokens of a sequence", "8 nodes", "16 nodes", "speedup")
    for m, _ in MODELS:
        for length in (1 << 15, 1 << 18):
            few, many = (best("h20", n, m, length, SMALL, (1, 2, 4, 8, 16)) for n in (8, 16))
            line(m, "{:,}".format(length), "%.1f" % few[0] if few else "none fits", "%.1f" % many[0] if many else "none fits",
                 "%.2f" % (few[0] / many[0]) if few and many else "-")
    print("""
## DeepSeek's sparse attention

671 billion parameters on 256 H100, pipeline 8, expert parallelism 32, keys gathered among context ranks; V3.2 is V3 with an indexer that chooses 2,048 keys a query.""")
    head("tokens of a sequence", "deepseek-v3", "deepseek-v3.2", "V3.2 over V3")
    for length in (1 << 12, 1 << 15, 1 << 16, 1 << 17):
        a = [best("h100", 32, m, length, LARGE, (1, 2, 4, 8)) for m in ("deepseek-v3", "deepseek-v3.2")]
        line("{:,}".format(length), *(cell(x, 256) for x in a), "%.2f" % (a[0][0] / a[1][0]) if all(a) else "-")


if __name__ == "__main__":
    main()

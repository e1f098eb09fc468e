#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: inside.py PROGRAM

Collectives inside a node as a run prices them, against NVIDIA's rows of 1 MiB and more in 16 bit (validation/aic-nccl.csv.gz): each
group of rows is written as nccl-tests print it and read by `calibrate --nccl`. Mean of the errors in %, without a fit.
"""
import collections
import csv
import gzip
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CARDS = {"A100-80GB SXM": "a100", "H100-80GB SXM": "h100", "H200 SXM": "h200", "B200 SXM": "b200", "GB200": "gb200"}
KINDS = "all_gather", "reduce_scatter", "all_reduce", "alltoall"


def error(program, platform, kind, gpus, rows):
    a_node = 4 if platform == "gb200" else 8
    lines = ["# %s_perf -b 1M" % kind, "# nThread 1 nGpus 1 minBytes 8 maxBytes 1 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0", "# Using devices"]
    lines += ["#  Rank %2d Group  0 Pid 1 on host%d device %d [0x0%d] NVIDIA" % (i, i // a_node, i % a_node, i % a_node) for i in range(gpus)]
    lines += ["# size count type redop root time algbw busbw #wrong"]
    lines += ["%d %d half sum -1 %s 1 1 0" % (size, size // 2, us) for size, us in sorted(rows)]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
        f.write("\n".join(lines) + "\n")
        f.flush()
        nodes = 1 + (gpus - 1) // a_node
        said = subprocess.run([program, "calibrate", "--platform", platform, "--nodes", str(nodes), "--nccl", f.name], capture_output=True, text=True, check=True)
    return float(re.search(r"before +mean +([\d.]+)", said.stdout).group(1))


def main():
    groups = collections.defaultdict(list)
    with gzip.open(os.path.join(ROOT, "validation", "aic-nccl.csv.gz"), "rt", encoding="utf-8") as f:
        for r in csv.DictReader(f):
            if r["precision"] == "half":
                groups[CARDS[r["gpu"]], int(r["ranks/nodes"].split()[0]), r["kind"]].append((int(r["shape_or_bytes"]), r["measured value"]))
    print("%-6s %4s" % ("card", "GPUs"), *("%14s" % k for k in KINDS))
    for platform, gpus in sorted({k[:2] for k in groups}, key=lambda k: (list(CARDS.values()).index(k[0]), k[1])):
        print("%-6s %4d" % (platform, gpus), *("%14.1f" % error(sys.argv[1], platform, k, gpus, groups[platform, gpus, k]) for k in KINDS))


main()

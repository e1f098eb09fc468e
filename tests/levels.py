#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random jobs whose collectives share links: the level that a run takes of itself is within 3 % of flows of every rank.

    python3 tests/levels.py STEPSIM [--jobs 200] [--seed 1]

Tensor, context and expert groups over nodes, sharded parameters, oversubscribed leaves, slow links, shuffled placements, with and without
PAT and NVLSTree. Exit 1 where a job is further off, or warns although nobody gave --level.
"""
import argparse
import random
import sys
import tempfile

from contention import placement, run

LIMIT = 0.03
PLATFORMS = ("h100", "h200", "a100-roce400", "a100", "h20")


def words_of_model(draw, tp):
    """A mixture or a dense model, and whether context parallelism is part of it."""
    if draw.random() < 0.4:
        return 1, ["--model", "qwen3-30b-a3b", "--num-layers", 8, "--etp", 1, "--ep", draw.choice([4, 8, 16, 32]),
                   "--moe-token-dispatcher-type", draw.choice(["alltoall", "flex", "allgather"])]
    cp = draw.choice([1, 1, 2, 4, 8])
    words = ["--model", "gpt2-7.5b", "--num-layers", 8, "--max-position-embeddings", 4096]
    if cp > 1:
        words += ["--cp", cp, "--cp-comm-type", draw.choice(["p2p", "a2a", "all_gather"])]
    if draw.random() < 0.2 and tp < 16:
        words += ["--fsdp", "full"]
    return cp, words


def job(draw, folder, index):
    """Words of a small job, or None where its ranks do not divide the GPUs."""
    nodes = draw.choice([2, 4, 8])
    tp, pp = draw.choice([1, 2, 4, 8, 16]), draw.choice([1, 2, 4])
    cp, words = words_of_model(draw, tp)
    if 8 * nodes % (tp * cp * pp):
        return None
    words += ["--platform", draw.choice(PLATFORMS), "--nodes", nodes, "--bf16", "--mbs", 1, "--seq", 4096, "--tp", tp, "--pp", pp,
              "--use-distributed-optimizer", "--gbs", 8 * nodes // (tp * cp * pp) * draw.choice([2, 4, 8])]
    if tp > 1:
        words += ["--sequence-parallel"]
    if draw.random() < 0.7:
        words += ["--set", "ss.oversubscription=%g" % draw.choice([2, 3.5, 4]),
                  "--set", "ss.nodes_per_leaf=%d" % draw.choice([n for n in (1, 2, 4) if n <= nodes])]
    if draw.random() < 0.5:
        words += ["--set", "ss.nccl.pat=1", "--set", "ss.nccl.nvls_tree=1"]
    if draw.random() < 0.2:
        words += ["--slow-link", draw.choice(["nic-0-1:4", "nvlink-0-1:3", "nic-1-0:2"])]
    if draw.random() < 0.3:
        words += ["--placement", placement(draw, 8 * nodes, folder, "job%d.place" % index)]
    return [str(w) for w in words]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    draw = random.Random(args.seed)
    failed = flows = runs = 0
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        while runs < args.jobs:
            words = job(draw, folder, runs)
            own = words and run(args.program, words, ["--engine", "native"])[0]
            if not own:
                continue  # refused
            runs += 1
            every = run(args.program, words, ["--engine", "native", "--level", "flow", "--unfold"])[0]
            off = own["iteration_ms"] / every["iteration_ms"] - 1
            flows += "level_reason" in own
            worst = max(worst, off, key=abs)
            if abs(off) > LIMIT or any("level" in w and "flows" in w for w in own["warnings"]):
                failed += 1
                print("%+.2f %%: %s\n  %s" % (100 * off, own["warnings"], " ".join(words)))
    print("%d jobs, %d went to flows, worst %+.2f %%, %d failed" % (runs, flows, 100 * worst, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

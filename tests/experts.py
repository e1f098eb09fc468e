#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random mixtures of experts, balanced and with loads of many kinds: folded = unfolded and simgrid = native to 1e-9.

    python3 tests/experts.py STEPSIM [--jobs 100] [--seed 1]

Each job runs at a level of its own on both engines, folded and unfolded. Exit 1 where two answers differ by more.
"""
import argparse
import json
import random
import subprocess
import sys

LIMIT = 1e-9
LEVELS = ("chunk", "layer", "flow")
LOADS = ("uniform", "zipf:0.1", "zipf:0.5", "zipf:1.5", "biased:0.5", "W1_hot_expert_set", "W3_spread_hot_experts", "W4_source_ragged",
         "W5_zero_expert_rank", "W6_rotating_hotspot", "W7_burst")


def job(draw):
    """Words of a job that Megatron accepts, small enough for every rank to be simulated."""
    nodes = draw.choice([1, 2, 4])
    world = 8 * nodes
    tp = draw.choice([1, 1, 2, 4])
    pp = draw.choice([n for n in (1, 1, 2, 4) if tp * n <= world])
    cp = draw.choice([1, 1, 2]) if world // (tp * pp) >= 2 else 1
    etp = draw.choice([1, tp])
    room = world // (pp * etp)
    ep = draw.choice([n for n in (1, 2, 4, 8, 16, 32) if n <= room])
    dp = world // (tp * pp * cp)
    vp = draw.choice([1, 2]) if pp > 1 else 1
    micro = draw.choice([1, 2])
    experts = draw.choice([n for n in (8, 16, 64) if n % ep == 0] or [64])
    layers = pp * vp * draw.choice([1, 2])
    words = ["--platform", draw.choice(["h100", "h800", "h20"]), "--nodes", nodes, "--hidden-size", 1024,
             "--num-attention-heads", 16, "--num-query-groups", 4, "--ffn-hidden-size", 2816, "--vocab-size", 32000,
             "--num-layers", layers, "--swiglu", "--disable-bias-linear", "--normalization", "RMSNorm",
             "--position-embedding-type", "rope", "--untie-embeddings-and-output-weights", "--num-experts", experts,
             "--moe-router-topk", draw.choice([1, 2, 4]), "--moe-ffn-hidden-size", draw.choice([512, 1408]),
             "--tp", tp, "--pp", pp, "--cp", cp, "--ep", ep, "--etp", etp, "--seq", 2048, "--mbs", micro,
             "--gbs", micro * dp * pp * draw.choice([1, 2]), "--bf16", "--use-distributed-optimizer",
             "--set", "ss.default.dispatcher=" + draw.choice(["allgather", "alltoall", "deepep", "hybridep"])]
    if tp > 1:
        words += ["--sequence-parallel"]
    if vp > 1:
        words += ["--num-virtual-stages-per-pipeline-rank", vp]
    if draw.random() < 0.5:
        words += ["--overlap-grad-reduce", "--overlap-param-gather"]
    if draw.random() < 0.3:
        words += ["--moe-shared-expert-intermediate-size", 1408]
    if draw.random() < 0.3:
        words += ["--set", "ss.oversubscription=2", "--set", "ss.nodes_per_leaf=1"]
    if draw.random() < 0.6:
        words += ["--moe-load", draw.choice(LOADS)]
    if ep * etp > 1 and "ss.default.dispatcher=allgather" not in words:
        words += overlap(draw, words, pp, vp, ep)
    if pp == 1 and draw.random() < 0.4:
        words += ["--fsdp", draw.choice(["full", "hybrid", "hybrid"])]
    return [str(w) for w in words]


def overlap(draw, words, pp, vp, ep):
    """Kernels beside the exchanges: a pair of microbatches, or shared experts."""
    kind = draw.choice(["none", "pairs", "pairs", "delayed", "shared"])
    if kind == "shared" and "--moe-shared-expert-intermediate-size" in words:
        return ["--moe-shared-expert-overlap"]
    if kind not in ("pairs", "delayed") or ep == 1 or (pp > 1 and vp == 1):
        return []
    more = ["--overlap-moe-expert-parallel-comm"] + (["--delay-wgrad-compute"] if kind == "delayed" else [])
    return more + (["--moe-flex-dispatcher-num-sms", 20] if draw.random() < 0.5 else [])


def answer(program, words, more):
    run = subprocess.run([program, "run", "--json"] + words + more, capture_output=True, text=True)
    if run.returncode not in (0, 1):
        return None, (run.stderr or run.stdout).strip()
    return json.loads(run.stdout)["iteration_ms"], ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    failed = refused = 0
    worst = 0.0
    for index in range(args.jobs):
        words = job(random.Random(args.seed * 1000003 + index))
        words += ["--level", LEVELS[index % 3]]
        first, why = answer(args.program, words, ["--engine", "native"])
        if first is None:
            refused += 1
            print("job %d refused: %s\n  %s" % (index, why, " ".join(words)))
            continue
        for more in (["--engine", "simgrid"], ["--engine", "native", "--unfold"]):
            other, why = answer(args.program, words, more)
            off = abs(other - first) / first if other else 1
            worst = max(worst, off)
            if off > LIMIT:
                failed += 1
                print("job %d differs by %.3g with %s: %s\n  %s" % (index, off, " ".join(more), why, " ".join(words)))
    print("%d jobs, %d refused, %d differ; worst %.3g" % (args.jobs, refused, failed, worst))
    sys.exit(1 if failed or refused else 0)


if __name__ == "__main__":
    main()

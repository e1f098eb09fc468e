#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random jobs that their host bounds: chunk level takes what layer level takes, and the engines agree.

    python3 tests/laws/host.py STEPSIM [--jobs 500] [--seed 1] [--only INDEX] [--engines 10] [--verbose]

Small models, micro batches of one or two, short sequences: kernels are as short as their launches. A job counts where a host twice as fast
changes its time by more than 5 %. Exit 1 where the levels are more than 2 % apart (docs/design/replay-contract.md, "Levels"), or where in
one of --engines jobs native and SimGrid are apart by more than rounding.
"""
import argparse
import collections
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "net")]

from jobs import Draw  # noqa: E402
from lab import PRINTED, apart  # noqa: E402

LIMIT = 0.02
BOUND = 0.05
STACKS = ("nanotron-2025", "pytorch-2023", "pytorch-2026", "torchtitan-2024", "torchtitan-2026", "aleph-alpha-2023", "internevo-2023",
          "megatron-2407", "megatron-lm-2021", "megatron-lm-2025", "megatron-bridge-26.04", "megatron-deepspeed-2021", "nemo-24.12")
MEGATRON = ("megatron", "nemo")


def mixture(d, words, room):
    """Experts, where half of the kernels of a layer are theirs."""
    ep = d.pick([n for n in (1, 2, 4, 8) if n <= room])
    words += ["--num-experts", d.pick(["8", "16"]), "--moe-router-topk", d.pick(["1", "2"]), "--moe-ffn-hidden-size", d.pick(["512", "1024"]),
              "--ep", str(ep), "--etp", "1", "--moe-token-dispatcher-type", d.pick(["alltoall", "allgather"])]
    words += ["--moe-grouped-gemm"] if d.chance(0.5) else []


def data_parallel(d, words, pp, dp):
    kind = d.pick(["ddp", "overlap", "zero", "zero", "fsdp"])
    if kind == "fsdp" and pp == 1 and dp > 1:
        words += ["--fsdp", d.pick(["full", "grad"])]
    elif kind in ("zero", "fsdp"):
        words += ["--use-distributed-optimizer"]
        words += ["--overlap-grad-reduce", "--overlap-param-gather"] if d.chance(0.5) else []
    elif kind == "overlap":
        words += ["--overlap-grad-reduce"]


def draw(seed, index):
    """Words of job `index`."""
    d = Draw("host", seed, index)
    stack, nodes = d.pick(STACKS), d.pick([1, 1, 2, 2, 4])
    platform = d.pick(["h100", "h100", "a100", "h800", "gb200"])
    gpus = 4 if platform == "gb200" else 8
    world = nodes * gpus
    tp = d.pick([n for n in (1, 1, 2, 4, 8, 16) if world % n == 0 and n <= world])
    pp = d.pick([n for n in (1, 1, 2, 4, 8) if world % (tp * n) == 0])
    dp = world // (tp * pp)
    vp = d.pick([1, 2, 3]) if pp > 1 else 1
    heads = d.pick([n for n in (8, 16, 32) if n % tp == 0])
    words = ["--platform", platform, "--nodes", str(nodes), "--stack", stack, "--hidden-size", str(heads * 64), "--num-attention-heads",
             str(heads), "--vocab-size", d.pick(["32000", "128256"]), "--swiglu", "--disable-bias-linear", "--normalization", "RMSNorm",
             "--position-embedding-type", "rope", "--untie-embeddings-and-output-weights", "--bf16",
             "--num-layers", str(pp * vp * d.pick([1, 2, 3, 4])), "--tp", str(tp), "--pp", str(pp),
             "--seq", d.pick(["256", "512", "1024", "2048", "4096"]), "--mbs", "1", "--gbs", str(dp * pp * d.pick([1, 2, 4]))]
    if vp > 1:
        words += ["--num-virtual-stages-per-pipeline-rank", str(vp)]
        words += ["--no-overlap-p2p-communication"] if d.chance(0.15) else []
    words += ["--sequence-parallel"] if tp > 1 and d.chance(0.6) else []
    if d.chance(0.2) and stack != "aleph-alpha-2023":
        mixture(d, words, dp)
        words += ["--sequence-parallel"] if tp > 1 and "--sequence-parallel" not in words else []
    data_parallel(d, words, pp, dp)
    words += d.pick([[], [], [], ["--recompute", "full"], ["--recompute", "selective"]])
    if stack.startswith(MEGATRON) and d.chance(0.2):
        words += ["--cuda-graph-impl", "transformer_engine", "--cuda-graph-scope", d.pick(["attn", "mlp"])]
    return words


def run(program, words, more):
    """What the program answers, or None where it refuses the job."""
    done = subprocess.run([program, "run", "--json", "--full-replay"] + words + more, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        if done.returncode < 0 or done.returncode > 4:
            raise SystemExit("exit %d: stepsim run %s\n%s" % (done.returncode, " ".join(words + more), done.stderr))
        return None
    answer = json.loads(done.stdout)
    return answer if "iteration_ms" in answer else None


def examine(args, words, number):
    """(how far the levels are apart, how far the engines are), or None where the host does not bound the job."""
    native = ["--engine", "native"]
    chunk = run(args.program, words, native + ["--level", "chunk"])
    fast = chunk and run(args.program, words, native + ["--level", "chunk", "--scale", "host.slowdown=0.5x"])
    if not fast or abs(chunk["iteration_ms"] / fast["iteration_ms"] - 1) <= BOUND:
        return None
    layer = run(args.program, words, native + ["--level", "layer"])
    engines = 0.0
    if number % args.engines == 0:
        for level, answer in (("chunk", chunk), ("layer", layer)):
            other = run(args.program, words, ["--engine", "simgrid", "--level", level])
            engines = max(engines, apart(answer["iteration_ms"], other["iteration_ms"]))
    return chunk["iteration_ms"] / layer["iteration_ms"] - 1, engines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", type=int)
    parser.add_argument("--engines", type=int, default=10, help="one of so many jobs runs on SimGrid, too")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    args.program = os.path.abspath(args.program)
    found, failed, index, drawn = [], 0, args.only or 0, collections.Counter()
    while len(found) < args.jobs:
        words = draw(args.seed, index)
        off = examine(args, words, len(found))
        if off:
            found.append(abs(off[0]))
            drawn[words[words.index("--stack") + 1]] += 1
            if abs(off[0]) > LIMIT or off[1] > PRINTED or args.verbose:
                failed += abs(off[0]) > LIMIT or off[1] > PRINTED
                print("job %d: chunk %+.2f %% of layer, engines %.1e apart\n  stepsim run %s" % (
                    index, 100 * off[0], off[1], " ".join(words)), flush=True)
        if args.only is not None:
            break
        index += 1
    found.sort()
    if found:
        print("%d jobs bound by the host of %d drawn; levels apart: median %.3f %%, nine of ten %.3f %%, worst %.2f %%; %d failed" % (
            len(found), index, 100 * found[len(found) // 2], 100 * found[len(found) * 9 // 10], 100 * found[-1], failed))
        print(", ".join("%s %d" % s for s in sorted(drawn.items())))
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random jobs with sharded parameters, experts and fp8: one account of time, whatever the level.

    python3 tests/laws/account.py PROGRAM [--jobs 2000] [--seed 1] [--from INDEX] [--only INDEX] [--verbose]

PROGRAM is stepsim or stepsim-driver, which answers all of them in one process. Each job is predicted at chunk, layer and flow level. At
each level no label is negative and the labels of each stage sum to the iteration; layer and flow level say the same; chunk level's iteration is
within LIMIT of theirs, each label and the time left with all communication hidden within LABELS, unless chunk level warns that flows
of its groups meet; MFU counts windows as they are, and both counts are of one iteration. Exit 1 where one is not so.
"""
import argparse
import collections
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "net"), os.path.join(os.path.dirname(HERE), "inproc")]

import driver  # noqa: E402
from jobs import Draw  # noqa: E402
from lab import LEVELS, PRINTED, apart  # noqa: E402

LIMIT = 0.03  # of the iteration: docs/design/replay-contract.md, "Levels"
LABELS = 0.05  # of the iteration: who is waited for where flows meet, which chunk level does not know
# name, the most tensor ranks, experts
DENSE = (("llama3.1-8b", 8, 0), ("llama3.1-70b", 8, 0), ("qwen3-4b", 8, 0), ("qwen2.5-14b", 8, 0), ("gemma-3-4b", 4, 0), ("gemma-2-2b", 4, 0))
MIXTURES = (("qwen3-30b-a3b", 4, 128), ("mixtral-8x7b", 8, 8), ("deepseek-v3", 8, 256), ("gpt-oss-20b", 8, 32), ("deepseek-v2-lite", 8, 64))
HYBRIDS = (("granite-4.0-h-micro", 1, 0), ("nemotron-h-8b", 8, 0), ("lfm2-1.2b", 1, 0), ("granite-4.0-h-tiny", 1, 64),
           ("qwen3-next-80b-a3b", 2, 512))
PLATFORMS = (("h100", 8), ("h800", 8), ("h20", 8), ("a100", 8), ("h200", 8), ("b200", 8), ("gb200", 4), ("a100-roce400", 8), ("mi300x", 8))
PRECISIONS = {"a100": ("bf16",), "b200": ("bf16", "fp8", "mxfp8"), "gb200": ("bf16", "fp8", "mxfp8")}


def parallel(d, world, gpus, groups, experts):
    """Sizes of the groups and their words."""
    tp = d.pick([n for n in (1, 1, 2, 4, 8) if n <= min(groups, gpus) and world % n == 0])
    pp = d.pick([n for n in (1, 1, 1, 2, 4) if world % (tp * n) == 0])
    cp = d.pick([n for n in (1, 1, 1, 2, 4) if world % (tp * pp * n) == 0])
    vp = d.pick([1, 2]) if pp > 1 else 1
    words = ["--tp", tp, "--pp", pp, "--cp", cp] + (["--sequence-parallel"] if tp > 1 and (experts or d.chance(0.7)) else [])
    words += ["--vp", vp] if vp > 1 else []
    words += ["--cp-comm-type", d.pick(["p2p", "all_gather"] + (["a2a"] if groups >= tp * cp else []))] if cp > 1 else []
    if experts:
        ep = d.pick([n for n in (1, 2, 4, 8, 16) if world % (pp * n) == 0 and experts % n == 0])
        words += ["--ep", ep, "--etp", 1, "--moe-token-dispatcher-type", d.pick(["alltoall", "alltoall", "allgather"] + ["flex"] * (ep > 1))]
        words += ["--moe-grouped-gemm"] if d.chance(0.7) else []
        words += ["--moe-load", d.pick(["zipf:0.5", "biased:0.5"])] if d.chance(0.15) else []
    return tp, pp, cp, vp, words


def sharding(d, pp):
    """What data parallelism shards, and what it does beside kernels."""
    if pp == 1 and d.chance(0.6):
        words = ["--fsdp", d.pick(["full", "full", "grad", "hybrid"])]
        return words + (["--outer-dp-sharding-strategy", "optim"] if words[1] == "hybrid" and d.chance(0.3) else [])
    words = ["--use-distributed-optimizer"] if d.chance(0.8) else []
    overlap = ["--overlap-grad-reduce"] + (["--overlap-param-gather"] if words else [])
    return words + (overlap if d.chance(0.6) else [])


def draw(seed, index):
    """Words of job `index`: its kind, precision and sharding are drawn, and then what goes with them."""
    d = Draw("account", seed, index)
    name, groups, experts = d.pick(d.pick([DENSE, MIXTURES, MIXTURES, HYBRIDS]))
    platform, gpus = d.pick(PLATFORMS)
    nodes = d.pick([1, 1, 2, 2, 4])
    world = nodes * gpus
    tp, pp, cp, vp, words = parallel(d, world, gpus, groups, experts)
    layers = pp * vp * d.pick([1, 2, 2, 4]) if name not in [hybrid[0] for hybrid in HYBRIDS] else 0
    precision = d.pick(PRECISIONS.get(platform.split("-")[0], ("bf16", "fp8")))
    words = ["--platform", platform, "--nodes", nodes, "--model", name, "--precision", precision, "--seq", d.pick([2048, 4096, 4096, 8192]),
             "--mbs", d.pick([1, 1, 2])] + words + sharding(d, pp)
    words += ["--num-layers", layers] if layers else []
    words += ["--gbs", words[words.index("--mbs") + 1] * (world // (tp * pp * cp)) * pp * d.pick([1, 2, 3])]
    words += ["--stack", d.pick(["torchtitan-2026", "pytorch-2026", "megatron-bridge-26.04", "nemo-24.12"])] if d.chance(0.4) else []
    words += d.pick([[], [], ["--recompute", "selective"], ["--recompute", "full"]])
    words += ["--fp8-param-gather"] if precision == "fp8" and {"--use-distributed-optimizer", "--fsdp"} & set(words) and d.chance(0.3) else []
    words += ["--tp-comm-overlap"] if tp > 1 and "--sequence-parallel" in words and d.chance(0.3) else []
    words += ["--optimizer-cpu-offload"] if d.chance(0.08) else []
    words += ["--cpu-offloading", "--cpu-offloading-num-layers", 1] if pp == 1 and "--recompute" not in words and d.chance(0.08) else []
    if experts and words[words.index("--ep") + 1] > 1 and "allgather" not in words and "--recompute" not in words and (pp == 1 or vp > 1):
        words += ["--overlap-moe-expert-parallel-comm"] if d.chance(0.3) else []
    return [str(w) for w in words]


class Refused(Exception):
    """The program refuses the job."""


def ask(program, words, level):
    done = program.run(["run", "--json", "--engine", "native", "--level", level, *words])
    if done.returncode not in (0, 1):
        if done.returncode not in (2, 3):
            raise SystemExit("exit %d: stepsim run %s\n%s" % (done.returncode, " ".join(words), done.stderr.decode()))
        raise Refused(done.stdout.decode())
    answer = json.loads(done.stdout)
    if "iteration_ms" not in answer:
        raise Refused("no iteration")
    return answer


def labels(breakdown):
    return {label: ms for label, ms in breakdown.items() if label != "stage"}


def sums(answer):
    """Yields what is wrong with the signs and the sums of one answer."""
    for stage in [answer["breakdown_ms"]] + answer["stage_breakdown"]:
        where = "stage %d" % stage["stage"] if "stage" in stage else "critical stage"
        for label, ms in labels(stage).items():
            if ms < 0:
                yield "sign", "%s: %s %.6g ms" % (where, label, ms)
        total = sum(labels(stage).values())
        if apart(total, answer["iteration_ms"]) > len(stage) * PRINTED:
            yield "sum", "%s: labels %.10g ms, iteration %.10g ms" % (where, total, answer["iteration_ms"])


def counts(answer):
    """Yields what is wrong with the two counts of FLOP: whole squares, and windows as they are, over one time."""
    if answer["mfu"] > answer["mfu_square"] * (1 + PRINTED):
        yield "mfu", "with windows %.10g, without %.10g" % (answer["mfu"], answer["mfu_square"])
    if answer["tflops_windows_per_gpu"] > answer["tflops_per_gpu"] * (1 + PRINTED):
        yield "mfu", "kernels compute %.10g of %.10g TFLOP/s" % (answer["tflops_windows_per_gpu"], answer["tflops_per_gpu"])
    if answer["mfu"] > answer["hfu"] * (1 + PRINTED):
        yield "mfu", "%.10g, with recomputed FLOP %.10g" % (answer["mfu"], answer["hfu"])


def busiest(answer):
    """The stage that the answer describes; of two that are as busy to less than the levels differ by each may name another."""
    return [labels(stage) for stage in answer["stage_breakdown"]].index(labels(answer["breakdown_ms"]))


def figures(answer):
    """What two levels say of the same thing, by name, in ms; `explain` says what the iteration takes with all communication hidden."""
    described = "busiest stage %d, " % busiest(answer)
    out = {"iteration": answer["iteration_ms"],
           described + "all communication hidden": answer["iteration_ms"] - answer["exposed_communication_ms"]}
    for stage in answer["stage_breakdown"]:
        out.update({"stage %d, %s" % (stage["stage"], label): ms for label, ms in labels(stage).items()})
    return out


def furthest(a, b):
    """The name that two levels differ most about, by how much of the iteration, with its sign, and how far their iterations are apart."""
    a, b = figures(a), figures(b)
    off = {name: (a[name] - b[name]) / b["iteration"] for name in b if name in a}
    name = max(off, key=lambda n: abs(off[n]))
    return name, off[name], off["iteration"]


def meets(answer):
    """Whether chunk level says that it is in doubt."""
    return any("flow" in w for w in answer["warnings"])


def examine(program, words):
    """(kind, words) of what is wrong, how far chunk and flow level are apart, whether chunk level is in doubt."""
    answers = {level: ask(program, words, level) for level in LEVELS}
    wrong = [(kind, "%s: %s" % (level, what)) for level, a in answers.items() for kind, what in [*sums(a), *counts(a)]]
    name, off, _ = furthest(answers["layer"], answers["flow"])
    if abs(off) > PRINTED:
        wrong.append(("layer = flow", "%s %+.3g %%" % (name, 100 * off)))
    flops = [a["mfu_square"] * a["iteration_ms"] for a in answers.values()]
    if apart(min(flops), max(flops)) > 2 * PRINTED:
        wrong.append(("mfu", "levels count %s" % flops))
    name, off, iterations = furthest(answers["chunk"], answers["flow"])
    doubt = meets(answers["chunk"])
    if not doubt and (abs(iterations) > LIMIT or abs(off) > LABELS):
        wrong.append(("chunk = flow", "iterations %+.3g %%, %s %+.3g %%" % (100 * iterations, name, 100 * off)))
    return wrong, (name, off), doubt


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--only", type=int)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    program = driver.of(args.program)
    index, ran, apart_by, failed, refused = args.first if args.only is None else args.only, 0, [], collections.Counter(), collections.Counter()
    while ran < args.jobs:
        words = draw(args.seed, index)
        try:
            wrong, (name, off), doubt = examine(program, words)
        except Refused as why:
            refused[" ".join(str(why).split())[75:300] if args.verbose else ""] += 1
            wrong, off = [], None
        if off is not None:
            ran += 1
            apart_by.append((abs(off), doubt))
            if args.verbose:
                print("job %d: %s %+.3g %%%s  stepsim run %s" % (index, name, 100 * off, " in doubt" if doubt else "", " ".join(words)))
        for kind, what in wrong:
            failed[kind] += 1
            print("job %d, %s: %s\n  stepsim run %s" % (index, kind, what, " ".join(words)), flush=True)
        if args.only is not None:
            break
        index += 1
    sure = sorted(off for off, doubt in apart_by if not doubt)
    if sure:
        print("%d jobs, %d refused, %d in doubt; of the others levels are apart by: median %.2g %%, nine of ten %.2g %%, worst %.3g %%; failed: %s" % (
            ran, sum(refused.values()), len(apart_by) - len(sure), 100 * sure[len(sure) // 2], 100 * sure[len(sure) * 9 // 10], 100 * sure[-1],
            ", ".join("%s %d" % f for f in sorted(failed.items())) or "none"))
    if args.verbose:
        for why, n in refused.most_common(20):
            print(n, why)
    return 1 if failed or not sure else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random jobs whose flows contend: what is not marked as sensitive agrees to 1e-9 between the engines, at every level.

    python3 tests/contention.py STEPSIM [--jobs 300] [--seed 1] [--every]

Placements are shuffled, uplinks oversubscribed, some links slow, some GPUs stragglers. A job takes one level after the other
(--every: each job all three). Then four jobs that were found to be chaotic: all must be marked, with a spread.
Exit 1 where one of these fails.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

LIMIT = 1e-9
LEVELS = ("chunk", "layer", "flow")
PLATFORMS = ("h100", "h800", "h20", "a100-hdr800", "h200")
# words, seed of the placement's shuffle
CHAOTIC = (
    ("--platform a100-hdr800 --nodes 8 --model llama3.1-8b --bf16 --tp 4 --pp 8 --cp 2 --seq 4096 --mbs 1 "
     "--max-position-embeddings 131072 --num-layers-per-virtual-pipeline-stage 1 --gbs 24 --sequence-parallel "
     "--cp-comm-type p2p --set ss.nodes_per_leaf=4 --set ss.oversubscription=3.5", 1),
    ("--platform h100 --nodes 8 --model gpt2-7.5b --bf16 --tp 8 --pp 4 --cp 1 --seq 4096 --mbs 1 "
     "--max-position-embeddings 131072 --gbs 8 --use-distributed-optimizer --overlap-grad-reduce "
     "--overlap-param-gather --sequence-parallel --set ss.nodes_per_leaf=4 --set ss.oversubscription=3.5", 7),
    ("--platform h20 --nodes 8 --model qwen2.5-32b --bf16 --tp 1 --pp 4 --cp 2 --seq 4096 --mbs 1 "
     "--max-position-embeddings 131072 --num-layers-per-virtual-pipeline-stage 4 --gbs 96 --use-distributed-optimizer "
     "--overlap-grad-reduce --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 "
     "--cp-comm-type a2a", 3),
    ("--platform h200 --nodes 4 --model qwen2.5-32b --bf16 --tp 4 --pp 1 --cp 1 --seq 8192 --mbs 1 "
     "--max-position-embeddings 131072 --gbs 16 --use-distributed-optimizer --overlap-grad-reduce "
     "--overlap-param-gather --sequence-parallel --straggler 17:2 --set ss.nodes_per_leaf=2 --set ss.oversubscription=1", 4),
)


def placement(draw, world, folder, name):
    """A file that puts ranks on GPUs in a random order."""
    gpus = list(range(world))
    draw.shuffle(gpus)
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as out:
        out.writelines("gpu %d %d\n" % divmod(gpu, 8) for gpu in gpus)
    return path


def job(draw, folder, index):
    """Words of a small job with something that makes its flows meet."""
    nodes = draw.choice([2, 2, 4])
    world = 8 * nodes
    tp = draw.choice([1, 2, 4, 8])
    pp = draw.choice([n for n in (1, 2, 4) if world % (tp * n) == 0])
    cp = draw.choice([n for n in (1, 1, 2) if world % (tp * pp * n) == 0])
    dp = world // (tp * pp * cp)
    vp = draw.choice([1, 2]) if pp > 1 else 1
    words = ["--platform", draw.choice(PLATFORMS), "--nodes", nodes, "--hidden-size", 2048, "--num-attention-heads", 16,
             "--num-query-groups", 16, "--ffn-hidden-size", 8192, "--vocab-size", 32000, "--num-layers", pp * vp * 2,
             "--swiglu", "--disable-bias-linear", "--tp", tp, "--pp", pp, "--cp", cp, "--seq", 2048, "--max-position-embeddings", 4096, "--mbs", 1,
             "--gbs", dp * pp * draw.choice([1, 2]), "--bf16"]
    if tp > 1 and draw.random() < 0.8:
        words += ["--sequence-parallel"]
    if vp > 1:
        words += ["--num-virtual-stages-per-pipeline-rank", vp]
    if cp > 1:
        words += ["--cp-comm-type", draw.choice(["p2p", "a2a", "allgather"])]
    if draw.random() < 0.7:
        words += ["--use-distributed-optimizer"]
        words += ["--overlap-grad-reduce", "--overlap-param-gather"] if draw.random() < 0.7 else []
    if draw.random() < 0.7:
        words += ["--placement", placement(draw, world, folder, "job%d.place" % index)]
    if draw.random() < 0.7:
        words += ["--set", "ss.nodes_per_leaf=1", "--set", "ss.oversubscription=%g" % draw.choice([1, 2, 3.5, 4])]
    if draw.random() < 0.3:
        words += ["--straggler", "%d:%g" % (draw.randrange(world), draw.choice([1.1, 2]))]
    if draw.random() < 0.3:
        words += ["--slow-link", "nic-%d-0:%g" % (draw.randrange(nodes), draw.choice([1.5, 3]))]
    return [str(w) for w in words]


def run(program, words, more):
    """What `run --json` prints, or None and why not."""
    done = subprocess.run([program, "run", "--json"] + words + more, capture_output=True, text=True)
    return (json.loads(done.stdout), "") if done.returncode in (0, 1) else (None, (done.stderr or done.stdout).strip())


def compare(program, words):
    """How far the engines are apart, whether the job is marked, and what is wrong."""
    both = [run(program, words, ["--engine", engine]) for engine in ("native", "simgrid")]
    for answer, why in both:
        if answer is None:
            return 0, False, "refused: " + why[:300]
    native, simgrid = (answer for answer, _ in both)
    off = abs(simgrid["iteration_ms"] / native["iteration_ms"] - 1)
    marked = native["sensitivity_pct"] > 0
    for answer in (native, simgrid):
        if (answer["sensitivity_pct"] > 0) != ("sensitivity" in answer):
            return off, marked, "sensitivity_pct without its spread"
    return off, marked, "differs by %.3g" % off if off > LIMIT and not marked else ""


def check_chaotic(program, folder):
    """How many of the chaotic jobs are not marked with a spread that holds their answer. Durations decide which jobs are chaotic:
    one that a change of the model calms (the engines agree) gives way to another one, with another shuffle of its placement."""
    failed = 0
    for number, (words, seed) in enumerate(CHAOTIC, 1):
        words = words.split()
        world = 8 * int(words[words.index("--nodes") + 1])
        words += ["--placement", placement(random.Random(seed), world, folder, "chaos%d.place" % number), "--level", "flow"]
        off, mark, wrong = compare(program, words)
        native, why = run(program, words, ["--engine", "native"])
        spread = native and native.get("sensitivity")
        text = subprocess.run([program, "run", "--engine", "native"] + words, capture_output=True, text=True).stdout
        if not mark:
            wrong = wrong or "not marked; the engines differ by %.3g" % off
        elif not (spread["low_ms"] <= native["iteration_ms"] <= spread["high_ms"] and spread["relative"] > LIMIT
                  and "order of equal events decides" in text.splitlines()[0]):
            wrong = "marked without a spread that holds its answer"
        if wrong:
            failed += 1
            print("chaotic job %d: %s %s\n  %s" % (number, wrong, why, " ".join(words)))
        else:
            print("chaotic job %d: %s" % (number, text.splitlines()[0].split(")")[0] + ")"))
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", action="store_true")
    args = parser.parse_args()
    failed = marked = runs = 0
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for index in range(args.jobs):
            words = job(random.Random(args.seed * 1000003 + index), folder, index)
            for level in LEVELS if args.every else LEVELS[index % 3:index % 3 + 1]:
                off, mark, wrong = compare(args.program, words + ["--level", level])
                runs += 1
                marked += mark
                worst = worst if mark else max(worst, off)
                if wrong:
                    failed += 1
                    print("job %d at level %s: %s\n  %s" % (index, level, wrong, " ".join(words)))
        failed += check_chaotic(args.program, folder)
    print("%d runs, %d marked, %d wrong; worst of those not marked %.3g" % (runs, marked, failed, worst))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

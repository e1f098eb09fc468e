#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random jobs whose flows contend: what is not marked as sensitive agrees to 1e-9 between the engines, at every level.

    python3 tests/contention.py STEPSIM [--jobs 300] [--seed 1] [--chaotic 4] [--every]

Placements are shuffled, uplinks oversubscribed, some links slow, some GPUs stragglers. A job takes one level after the other
(--every: each job all three). Then the first of four jobs that were found to be chaotic (--chaotic:
how many of them): all must be marked, with a spread.
Exit 1 where one of these fails.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

import generate

LIMIT = 1e-9
LEVELS = ("chunk", "layer", "flow")
# words, seed of the placement's shuffle
CHAOTIC = (
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
    ("--platform a100-hdr800 --nodes 8 --model llama3.1-8b --bf16 --tp 4 --pp 8 --cp 2 --seq 4096 --mbs 1 "
     "--max-position-embeddings 131072 --num-layers-per-virtual-pipeline-stage 1 --gbs 24 --sequence-parallel "
     "--cp-comm-type p2p --set ss.nodes_per_leaf=4 --set ss.oversubscription=3.5", 1),  # dear: 24 s
)


def run(program, words, more, folder=None):
    """What `run --json` prints in the folder that has the job's files, or None and why not."""
    done = subprocess.run([program, "run", "--json"] + words + more, capture_output=True, text=True, cwd=folder)
    return (json.loads(done.stdout), "") if done.returncode in (0, 1) else (None, (done.stderr or done.stdout).strip())


def compare(program, words, folder):
    """How far the engines are apart, whether the job is marked, what is wrong, and the native answer."""
    both = [run(program, words, ["--engine", engine], folder) for engine in ("native", "simgrid")]
    for answer, why in both:
        if answer is None:
            return 0, False, "refused: " + why[:300], None
    native, simgrid = (answer for answer, _ in both)
    off = abs(simgrid["iteration_ms"] / native["iteration_ms"] - 1)
    marked = native["sensitivity_pct"] > 0
    for answer in (native, simgrid):
        if (answer["sensitivity_pct"] > 0) != ("sensitivity" in answer):
            return off, marked, "sensitivity_pct without its spread", native
    return off, marked, "differs by %.3g" % off if off > LIMIT and not marked else "", native


def check_chaotic(program, folder, most):
    """How many of the first `most` chaotic jobs are not marked with a spread that holds their answer. Durations decide which jobs are chaotic:
    one that a change of the model calms (the engines agree) gives way to another one, with another shuffle of its placement."""
    failed = 0
    for number, (words, seed) in enumerate(CHAOTIC[:most], 1):
        words = words.split()
        world = 8 * int(words[words.index("--nodes") + 1])
        words += ["--placement", "chaos%d.place" % number, "--level", "flow"]
        generate.Job(words, files={"chaos%d.place" % number: generate.placement(random.Random(seed), world)}).write(folder)
        off, mark, wrong, native = compare(program, words, folder)
        spread = native and native.get("sensitivity")
        text = subprocess.run([program, "run", "--engine", "native"] + words, capture_output=True, text=True, cwd=folder).stdout
        if not mark:
            wrong = wrong or "not marked; the engines differ by %.3g" % off
        elif not (spread["low_ms"] <= native["iteration_ms"] <= spread["high_ms"] and spread["relative"] > LIMIT
                  and "order of equal events decides" in text.splitlines()[0]):
            wrong = "marked without a spread that holds its answer"
        if wrong:
            failed += 1
            print("chaotic job %d: %s\n  %s" % (number, wrong, " ".join(words)))
        else:
            print("chaotic job %d: %s" % (number, text.splitlines()[0].split(")")[0] + ")"))
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chaotic", type=int, default=len(CHAOTIC))
    parser.add_argument("--every", action="store_true")
    args = parser.parse_args()
    args.program = os.path.abspath(args.program)
    failed = marked = runs = 0
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for index in range(args.jobs):
            job = generate.contended(random.Random(args.seed * 1000003 + index), index)
            job.write(folder)
            words = job.words + job.sim
            for level in LEVELS if args.every else LEVELS[index % 3:index % 3 + 1]:
                off, mark, wrong, _ = compare(args.program, words + ["--level", level], folder)
                runs += 1
                marked += mark
                worst = worst if mark else max(worst, off)
                if wrong:
                    failed += 1
                    print("job %d at level %s: %s\n  %s" % (index, level, wrong, " ".join(words)))
        failed += check_chaotic(args.program, folder, args.chaotic)
    print("%d runs, %d marked, %d wrong; worst of those not marked %.3g" % (runs, marked, failed, worst))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

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

import generate

LIMIT = 1e-9
LEVELS = ("chunk", "layer", "flow")


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
        words = generate.mixture(random.Random(args.seed * 1000003 + index)).words
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

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random jobs whose collectives share links: the level that a run takes of itself is within 3 % of flows of every rank.

    python3 tests/levels.py STEPSIM [--jobs 200] [--seed 1]

Tensor, context and expert groups over nodes, sharded parameters, oversubscribed leaves, slow links, shuffled placements, with and without
PAT and NVLSTree. Exit 1 where a job is further off, or warns although nobody gave --level.
"""
import argparse
import os
import random
import sys
import tempfile

import generate
from contention import run

LIMIT = 0.03


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.program = os.path.abspath(args.program)
    draw = random.Random(args.seed)
    failed = flows = runs = 0
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        while runs < args.jobs:
            job = generate.shared(draw, runs)
            if not job:
                continue
            job.write(folder)
            words = job.words + job.sim
            own = run(args.program, words, ["--engine", "native"], folder)[0]
            if not own:
                continue  # refused
            runs += 1
            every = run(args.program, words, ["--engine", "native", "--level", "flow", "--unfold"], folder)[0]
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

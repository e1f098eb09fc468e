#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: growth.py STEPSIM ROOT [--smoke]

How the instructions of `run` grow with GPUs, layers, stages and microbatches, by callgrind: they do not depend on what else runs. Prints rows
of Markdown; exponents are those of instructions over what grows, from the first to the last value and of the last step alone.
"""
import concurrent.futures
import math
import os
import sys

from measure import instructions

DENSE = "run --platform h800 --model llama3.1-8b --bf16 --seq 4096 --mbs 1 --tp 8 --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather "
LARGE = "run --job ROOT/workloads/jobs/405b-16k.args "
AXES = (  # what grows, its values, words with the value and what follows from it
    ("GPUs, 405B, one rank a class", (512, 4096, 32768, 262144, 1048576), lambda n: LARGE + "--nodes %d --gbs %d" % (n // 8, n)),
    ("GPUs, 405B, every rank and microbatch", (512, 2048, 8192), lambda n: LARGE + "--nodes %d --gbs %d --unfold --full-replay" % (n // 8, n // 4)),
    ("layers, 8 stages", (16, 64, 256), lambda n: DENSE + "--nodes 8 --pp 8 --gbs 64 --num-layers %d" % n),
    ("stages, 64 layers, 256 microbatches, each replayed", (4, 16, 64),
     lambda n: DENSE + "--nodes %d --pp %d --gbs 256 --num-layers 64 --full-replay" % (n, n)),
    ("microbatches, 8 stages, each replayed", (64, 512, 4096), lambda n: DENSE + "--nodes 8 --pp 8 --gbs %d --full-replay" % n),
    ("microbatches, 8 stages", (64, 4096, 262144), lambda n: DENSE + "--nodes 8 --pp 8 --gbs %d" % n),
)


def main():
    stepsim, root, smoke = sys.argv[1], sys.argv[2], "--smoke" in sys.argv
    options = {"env": {**os.environ, "LC_ALL": "C", "STEPSIM_DATA": ""}}
    jobs = [(axis, n) for axis in range(2, 3) if smoke for n in AXES[axis][1][:2]] or [(axis, n) for axis, row in enumerate(AXES) for n in row[1]]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        counts = pool.map(lambda job: instructions([stepsim, *AXES[job[0]][2](job[1]).replace("ROOT", root).split()], **options), jobs)
        took = dict(zip(jobs, counts))
    print("| what grows | values | million instructions | exponent | of the last step |\n|---|---|---|---|---|")
    for axis, (name, values, _) in enumerate(AXES):
        points = [(n, took[axis, n]) for n in values if (axis, n) in took]
        if points:
            slope = [math.log(points[-1][1] / p[1]) / math.log(points[-1][0] / p[0]) for p in (points[0], points[-2])]
            print("| %s | %s | %s | %.2f | %.2f |" % (name, "; ".join(f"{n:,}" for n, _ in points), "; ".join("%.3g" % m for _, m in points), *slope))


if __name__ == "__main__":
    main()

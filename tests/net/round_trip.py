# SPDX-License-Identifier: Apache-2.0
"""`run --json` fed back by `run --job RUN.json` gives the same bytes: the inputs of a result are complete.

Usage: round_trip.py STEPSIM [--jobs N] [--seed S] [-j N]
For every committed job, levels and engines by turns, and for at least N random ones (200) of the net that run.
"""
import argparse
import concurrent.futures
import glob
import os
import sys
import tempfile

import compare
import jobs
from net import Binary, Task, TREE, names_of

SHOWN = 5


def committed():
    """The jobs of workloads/jobs; the largest as it is."""
    ways = [["--level", level, "--engine", engine] for level in ("chunk", "layer", "flow")
            for engine in ("native", "simgrid")]
    for i, path in enumerate(sorted(glob.glob(os.path.join(TREE, "workloads", "jobs", "*.args")))):
        name = os.path.splitext(os.path.basename(path))[0]
        way = ways[i % len(ways)] if "16k" not in name else []
        yield Task("run", ["run", "--job", name] + way + ["--json"])


def drawn(seed, count, names):
    """Jobs of the net; some of them do not run."""
    for i in range(count):
        job = jobs.make("round trip " + seed, i, names)
        yield Task("run", ["run"] + job.words + job.sim + job.run + ["--json"], job, job.files)


def trip(stepsim, number, task):
    """None if the job does not run, else what differs (empty: nothing)."""
    for name, text in task.files.items():
        with open(os.path.join(stepsim.folder, name), "w") as f:
            f.write(text)
    once = stepsim.call(task.words)
    if once["exit"] not in (0, 1) or '"error"' in once["out"][:200]:
        return None
    name = "run-%d.json" % number
    with open(os.path.join(stepsim.folder, name), "w") as f:
        f.write(once["out"].replace("@/", stepsim.root + "/"))
    again = stepsim.call(["run", "--job", name, "--json"])
    return compare.compare("run", [], once, again, [], [])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("stepsim")
    p.add_argument("--jobs", type=int, default=200)
    p.add_argument("--seed", default="1")
    p.add_argument("-j", type=int, default=os.cpu_count() or 2)
    args = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="stepsim-net-") as folder:
        stepsim = Binary(args.stepsim, folder)
        tasks = list(committed())
        ncommitted = len(tasks)
        tasks += drawn(args.seed, args.jobs * 2, names_of(stepsim))
        with concurrent.futures.ThreadPoolExecutor(max_workers=args.j) as pool:
            rows = list(pool.map(lambda i: trip(stepsim, i, tasks[i]), range(len(tasks))))
    ran = [r is not None for r in rows]
    if not all(ran[:ncommitted]) or sum(ran) < args.jobs + ncommitted:
        sys.exit("round trip: %d of %d committed jobs run, and %d others, fewer than asked for" % (
            sum(ran[:ncommitted]), ncommitted, sum(ran[ncommitted:])))
    differing = [(t, r) for t, r in zip(tasks, rows) if r]
    for task, rows in differing[:SHOWN]:
        print("stepsim %s" % " ".join(task.words))
        for where, a, b in rows[:8]:
            print("    %s\n      first  %s\n      again  %s" % (where, a, b))
    print("round trip: %d jobs, %d differ" % (sum(ran), len(differing)))
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()

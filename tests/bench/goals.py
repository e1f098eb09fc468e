#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: goals.py BUILD ROOT [--smoke] [WORD]

Each goal of speed, what is measured of it, and by which command: a row of Markdown each. WORD: rows alone that have it in their goal.
First what is counted, by two at a time, for counts do not depend on the machine's load; then what takes time, one after the other: processor
time of all processes, the fastest of several runs. A goal in seconds of two workers is held against the wall time where others took less than
a twentieth of the machine meanwhile, and else against half of the processor time, the least that two processors need.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

from measure import QUIET, Others, instructions, run
import workers

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GPT3 = "--platform a100-hdr800 --model gpt3-175b --fp16 --nodes 8 --tp 8 --pp 8 --vp 3 --mbs 1 --recompute full --seq 2048"
SEARCH = "search --platform h100 --model llama3.1-70b --bf16 --seq 8192 --gbs 1024 --nodes %d --unconfirmed --workers 2"
PLAN = "capacity --vary platform=gb200,h100,h800 --model %s --tokens 15T --deadline 90d"
MISSED = ("--platform gb200 --model llama3.1-405b --bf16 --seq 8192 --gbs 2048 --tokens 15T --deadline 90d --vary tp=8 --vary cp=1 --vary pp=4,8 "
          "--vary fsdp=none --vary mbs=1 --vary recompute=none --nodes 512..2304")
BLOCK = ("--platform h100 --nodes 1024 --model llama3.1-405b --bf16 --seq 8192 --gbs 2048 --mbs 1", "--tp 8 --cp 1",
         "--tp 8 --sequence-parallel --use-distributed-optimizer --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split --pp 16 "
         "--vp 4 --recompute-granularity full --recompute-method block --recompute-num-layers 1")
FITS = "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --sequence-parallel --use-distributed-optimizer"
LONGEST = 240  # s of processor time after which a command that should take less is ended


class Bench:
    def __init__(self, build, root, repeats):
        self.stepsim, self.root, self.repeats = os.path.join(build, "stepsim"), root, repeats
        self.shared = os.path.join(os.path.abspath(build), "libstepsim.so")
        self.tool = lambda name: os.path.join(build, "tests", name)
        self.list = os.path.join(root, "tests/bench/sweep.txt")

    def words(self, words):
        return [self.stepsim, *words.replace("ROOT", self.root).split()]

    def count(self, words):
        return [instructions(self.words(words), env={**os.environ, "LC_ALL": "C", "STEPSIM_DATA": ""})]

    def difference(self, tool, lines, few, many, *rest):
        """Million instructions for one more line of a list, by two runs of a bench."""
        with tempfile.NamedTemporaryFile("w") as jobs:
            jobs.writelines(lines)
            jobs.flush()
            took = [instructions([self.tool(tool), rest[0] if rest else "sweep", jobs.name, *rest[1:], str(n)]) for n in (few, many)]
        return (took[1] - took[0]) / (many - few)

    def time(self, words, repeats=None):
        """CPU s, wall s, MiB of the fastest of several runs, what others took, and what the last one wrote."""
        best = None
        with Others() as others:
            for _ in range(repeats or self.repeats):
                found = run(self.words(words), LONGEST, subprocess.DEVNULL, cwd=self.root)
                others.own += found[0]
                best = found if not best or found[0] < best[0] else best
                if found[1] != found[1] or others.own > 10:
                    break
        return (*best[:3], others.share, best[3])


def eight_workers(b, which):
    """How many of eight workers are at work, %: by a clock of instructions, for which of them gets what does not depend on the machine then."""
    return [100 * workers.way(b.stepsim, workers.SEARCHES[which][1], 1)[0] / 8 / workers.way(b.stepsim, workers.SEARCHES[which][1], 8)[0]]


def replayed(b, rows):
    """Layouts replayed over those shown: the largest of some searches, by number."""
    text = run([b.tool("bench_bounds"), "--effort", *map(str, rows)])[3]
    return [float(line.split("|")[-2]) for line in text.splitlines()[2:]]


def in_process(b):
    return [b.difference("bench_sweep", ["%s --gbs %d\n" % (GPT3, 64 * (1 + i % 32)) for i in range(24)], 4, 24)]


def seconds(b, words):
    cpu, wall, _, others, _ = b.time(words)
    return [cpu], others


def by_two(found):
    """s of two workers, and the remark that tells of which clock."""
    cpu, wall, _, others = found[:4]
    return (wall, "wall") if others < QUIET or wall != wall else (cpu / 2, "CPU / 2")


def search(b, nodes):
    found = b.time(SEARCH % nodes)
    took, clock = by_two(found)
    return [took, found[2]], found[3], clock


def planner(b, model):
    found = b.time(PLAN % model, 1)
    took, clock = by_two(found)
    return [took], found[3], clock


def example(b):
    found = b.time("capacity --platform h100 --model llama3.1-70b --bf16 --seq 8192 --gbs 1024 --tokens 1T --deadline 30d --nodes 16..256")
    took, clock = by_two(found)
    return [took], found[3], clock


def missed(b):
    found = json.loads(run(b.words("capacity %s --json" % MISSED), 0, subprocess.DEVNULL)[3])
    return [found["points"][found["chosen"]]["gpu_hours"] / 1e6]


def no_slower(b):
    """Time of the words that a user found over the time of the search's best."""
    job, given, found = BLOCK
    best = json.loads(run([b.stepsim, "search", *job.split(), *given.split(), "--unconfirmed", "--json"], 0, subprocess.DEVNULL)[3])
    mine = json.loads(run([b.stepsim, "run", *job.split(), *found.split(), "--json"])[3])
    return [mine["iteration_ms"] / best["points"][best["groups"][0]["best"]]["iteration_ms"]]


def most_events(b):
    """s of 20 million events, the most of one layout of a search, at the pace of a job of 64 ranks that meet on links."""
    cpu, _, _, others, text = b.time("run --job ROOT/workloads/jobs/70b-14.args --level flow --unfold --full-replay --json")
    return [2e7 * cpu / json.loads(text)["events"]], others


def numbers(b):
    """Configurations a second and processor of a sweep in which numbers alone differ."""
    vary = "--vary set=%s --vary scale=%s --vary spread=%s" % (
        ",".join("ss.nic.bandwidth=%dGBps" % (25 + i) for i in range(22)), ",".join("hbm.efficiency=%gx" % (0.9 + 0.005 * i) for i in range(22)),
        ",".join("%g" % (0.5 + 0.05 * i) for i in range(22)))
    cpu, _, _, others, _ = b.time("sweep --platform h800 --model llama3.1-70b --bf16 --seq 8192 --gbs 1024 --nodes 16 --tp 4 --pp 4 --mbs 1 "
                                  "--sequence-parallel --use-distributed-optimizer --workers 1 " + vary)
    return [22 ** 3 / cpu], others


def served(b, answers):
    """p50 and p99 of one client, answers a second of twenty, and CPU ms of an answer there. Where others take part of the machine, the first three by
    processor time: of the page's answers without HTTP, and of all processors over an answer's."""
    with Others() as others:
        cpu, _, _, text = run([sys.executable, os.path.join(TESTS, "bench/serve.py"), b.stepsim, b.list, str(answers)])
        others.own = cpu
    one, twenty = [[float(x) for x in line.split("|")[2:-1]] for line in text.splitlines() if re.match(r"\| \d", line)]
    if others.share < QUIET:
        return [one[1], one[2], twenty[3], twenty[4]], others.share, "wall"
    page = [float(x) for x in run([b.tool("bench_calls"), "page", b.list, "5", "200"])[3].split("|")[3:7]]
    return [page[1], page[3], 1e3 * os.cpu_count() / twenty[4], twenty[4]], others.share, "CPU"


CALLS = """import sys, time
sys.path.insert(0, sys.argv[1])
import stepsim
took = []
for n in range(100):
    begun = time.process_time()
    stepsim.run(*sys.argv[2].split(), gbs=16 * n + 16)
    took.append(time.process_time() - begun)
print(1e3 * sorted(took[1:])[49])"""


def calls(b):
    """Medians, ms: of calls in Python for 8B, with a stack and without one, so that five others are predicted, too; and of calls of the library for the list, none of
    whose jobs tells a stack and one in five of which does not fit."""
    python = [sys.executable, "-c", CALLS, os.path.join(b.root, "python")]
    return [*(float(run([*python, words], env={**os.environ, "STEPSIM_LIBRARY": b.shared})[3]) for words in (FITS + " --stack megatron-2407", FITS)),
            float(run([b.tool("bench_calls"), "library", b.list, "5", "200"])[3].split("|")[4])]


# goal, figures asked (most, or least where the unit begins with >), unit, how it is measured, command
COUNTED = (
    ("`run` of 70b-14, as it is", 20, "M instructions", lambda b: b.count("run --job ROOT/workloads/jobs/70b-14.args"), "run --job 70b-14"),
    ("405B on 1,048,576 GPUs, folded", 60, "M instructions",
     lambda b: b.count("run --job ROOT/workloads/jobs/405b-16k.args --nodes 131072 --gbs 1048576"), "run --job 405b-16k --nodes 131072 --gbs 1048576"),
    ("DeepSeek-V3 on 2,048 GPUs, every rank", 1300, "M instructions",
     lambda b: b.count("run --job ROOT/workloads/jobs/deepseek-v3-2048.args --unfold --brief"), "run --job deepseek-v3-2048 --unfold --brief"),
    ("one configuration in process, GPT-3 175B on 64 GPUs", 2.5, "M instructions", in_process, "bench_sweep sweep LIST, 24 lines and 4"),
    ("8 workers at work, 8B on 2 nodes", 85, "> %", lambda b: eight_workers(b, 0), "python3 tests/bench/workers.py build/stepsim --way"),
    ("8 workers at work, 70B on 16 nodes", 85, "> %", lambda b: eight_workers(b, 1), "the same"),
    ("1,000 workers at work, a million legal layouts, all predicted", 50, "> %", lambda b: [workers.thousand(b.stepsim)[0]],
     "python3 tests/bench/workers.py build/stepsim --thousand"),
    ("layouts replayed over shown, 8B, 1B, 70B, 22B, 32B: the largest", 1.5, "", lambda b: [max(replayed(b, (0, 4)))], "bench_bounds --effort 0 4"),
    ("the same, 70B on GB200, mixtures and hybrid models", 1.5, "", lambda b: [max(replayed(b, (5, 11)))], "bench_bounds --effort 5 11"),
    ("405B for 15T tokens in 90 days on GB200, tensor 8: the cheapest (147 M USD at 12.47 USD an hour)", 11.79, "M GPU-hours", missed, "capacity " + MISSED),
    ("405B on 1,024 h100 nodes: recompute of one layer a chunk, which a user found, over the search's best", 1, "> times", no_slower,
     "search " + " ".join(BLOCK[:2])),
)
TIMED = (
    *(("70B on %d h100 nodes, all axes of the layout, two workers: time; memory" % n, (15, 250), ("s", "MiB"), lambda b, n=n: search(b, n), SEARCH % n)
      for n in (4, 16, 64, 256, 512)),
    ("20 million events, more of which no layout of a search replays (`SS_LEVEL_MOST_EVENTS`)", 0.5, "s of CPU", most_events,
     "run --job 70b-14 --level flow --unfold --full-replay, of its 35.5 million"),
    ("`run` of 70b-14", 10, "ms of CPU", lambda b: (lambda found: ([1e3 * found[0]], found[3]))(b.time("run --job ROOT/workloads/jobs/70b-14.args", 10)),
     "run --job 70b-14"),
    ("configurations a second and processor where numbers alone differ", 10000, "> a second", numbers, "sweep of tests/bench/bench_search.c, --workers 1"),
    *(("`schedule search`, pp %d" % p, 2, "s of CPU", lambda b, p=p: seconds(b, "schedule search --pp %d -m %d" % (p, 2 * p)), "schedule search --pp %d -m %d" % (p, 2 * p))
      for p in (32, 100, 300)),
    ("the example of `capacity --help`, two workers", 5, "s", example, "capacity --platform h100 ... --nodes 16..256"),
    ("15T tokens in 90 days, GB200, H100 or H800, 405B, two workers", 30, "s", lambda b: planner(b, "llama3.1-405b --bf16 --seq 8192 --gbs 2048"),
     PLAN % "llama3.1-405b --bf16 --seq 8192 --gbs 2048"),
    ("the same, DeepSeek-V3", 30, "s", lambda b: planner(b, "deepseek-v3 --bf16 --seq 4096 --gbs 15360"), PLAN % "deepseek-v3 --bf16 --seq 4096 --gbs 15360"),
    ("`serve`: p50 and p99 of one client; answers a second of twenty; CPU of an answer", (3, 12, 400, 2 / 0.4), ("ms", "ms", "> a second", "ms"),
     lambda b: served(b, 2000), "python3 tests/bench/serve.py build/stepsim tests/bench/sweep.txt"),
    ("a call in Python of 8B on 16 GPUs with a stack; without, so that five others are predicted, too; of the library, jobs of the list", 1, "ms of CPU",
     lambda b: (calls(b), None), "calls of tests/bench/goals.py; bench_calls library tests/bench/sweep.txt 5 200"),
)
QUICK = ("`run` of 70b-14, as it is", "`run` of 70b-14", "`schedule search`, pp 32")


def listed(x):
    return x if isinstance(x, (list, tuple)) else (x,)


def figure(x):
    return "%.0f" % x if x >= 100 else "%.3g" % x


def print_row(goal, asked, unit, found, command, others=None, clock=""):
    """The figures asked and their units are one for all that is found, or one each."""
    asked, units = listed(asked), listed(unit)
    names = [u.lstrip("> ") for u in units]
    wanted = "; ".join(("%s %s" % (figure(a), name)).rstrip() for a, name in zip(asked, names * len(asked)))
    asked, units, names = asked * len(found), units * len(found), names * len(found)
    names[0] += " (%s)" % clock if clock else ""
    now = "; ".join("ended after %d s of CPU" % LONGEST if x != x else ("%s %s" % (figure(x), name)).rstrip() for x, name in zip(found, names))
    ratios = [(x / a if u.startswith(">") else a / x) for a, x, u in zip(asked, found, units)]
    over = "; ".join("-" if r != r else "**%.3g**" % r if r >= 1 else "%.2g" % r for r in ratios)
    print("| %s | %s | %s | %s | %s | `%s` |" % (goal, wanted, now, over, "" if others is None else "%.0f" % others, command), flush=True)


def main():
    build, root = (os.path.abspath(path) for path in sys.argv[1:3])
    smoke, word = "--smoke" in sys.argv[3:], ([w for w in sys.argv[3:] if w != "--smoke"] or [""])[0]
    b = Bench(build, root, 1 if smoke else 3)
    print("| goal | asked | now | asked over now | others, % | command |\n|---|---|---|---|---|---|", flush=True)
    rows = [[row for row in table if word in row[0] and (not smoke or row[0] in QUICK)] for table in (COUNTED, TIMED)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for row, found in zip(rows[0], pool.map(lambda row: row[3](b), rows[0])):
            print_row(*row[:3], found, row[4])
    for goal, asked, unit, measure, command in rows[1]:
        found, *rest = measure(b)
        print_row(goal, asked, unit, found, command, *rest)


if __name__ == "__main__":
    main()

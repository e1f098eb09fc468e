#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: instructions.py PROGRAM SOURCE_ROOT [--all BENCH_CALLS BENCH_SWEEP]

Instructions of whole commands, and of one more answer, or configuration of a sweep, of a process that has many, counted by callgrind, against the most that each may take: what stands below is
measured, plus a twentieth for other compilers and C libraries. The dear ones run with --all. Skips by a message where valgrind is not installed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

LIMITS = (  # name, words, million instructions, whether it is dear
    ("version", "--version", 0.9, False),
    ("70b-14", "run --job ROOT/workloads/jobs/70b-14.args", 20.7, False),
    ("deepseek-v3 unfolded", "run --job ROOT/workloads/jobs/deepseek-v3-2048.args --unfold --brief", 1260, True),
    ("8B on 2 nodes, searched", "search --platform h800 --nodes 2 --model llama3.1-8b --bf16 --seq 8192 --gbs 128 --unconfirmed --workers 1", 878, True),
    ("1,048,576 GPUs folded", "run --job ROOT/workloads/jobs/405b-16k.args --nodes 131072 --gbs 1048576", 54.9, True),
)

CALLS = (  # whose answer, further flags, million instructions an answer: the mean of 20 jobs of tests/bench/sweep.txt with OTHER, four of which do not fit
    ("page", "", 20.4),
    ("library", "", 20.4),
    ("library", "--stack nemo-25.03", 11.6),
)
SWEEP = 4.3  # million instructions a configuration: the mean of 20 of tests/bench/sweep.txt
OTHER = "--lr 3e-4 --train-iters 1000 --log-interval 10"  # what launch scripts say and no time depends on


def count(program, words):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, *words], capture_output=True, text=True,
                          check=False, env={**os.environ, "LC_ALL": "C", "STEPSIM_DATA": ""})
    found = re.search(r"refs: +([\d,]+)", done.stderr)
    if done.returncode not in (0, 1) or not found:
        sys.exit("instructions.py: %s: exit status %d\n%s" % (" ".join(words), done.returncode, done.stderr[-2000:]))
    return int(found[1].replace(",", "")) / 1e6


def main():
    program, root, every = sys.argv[1], sys.argv[2], "--all" in sys.argv[3:]
    if not shutil.which("valgrind"):
        print("instructions.py: skipped, valgrind is not installed")
        return 0
    bad = 0
    for name, words, most, dear in LIMITS:
        if dear and not every:
            continue
        took = count(program, words.replace("ROOT", root).split())
        print("%-24s %8.2f M, at most %.1f%s" % (name, took, most, "" if took <= most else ": TOO MANY"))
        bad |= took > most
    return bad | (every and count_more(*sys.argv[sys.argv.index("--all") + 1:], root))


def jobs_of(root, more, step=1):
    jobs = tempfile.NamedTemporaryFile("w")
    subprocess.run(["sh", root + "/tests/bench/sweep.sh"], check=True)
    with open(root + "/tests/bench/sweep.txt", encoding="ascii") as f:
        jobs.writelines("%s %s\n" % (line.strip(), more) for line in f.read().splitlines()[::step])
    jobs.flush()
    return jobs


def count_more(calls, sweep, root):
    """By the difference of two runs, so that what a process pays once is not in it."""
    bad = 0
    for door, stack, most in CALLS:
        with jobs_of(root, " ".join((OTHER, stack))) as jobs:
            few, many = (count(calls, [door, jobs.name, "37", str(n)]) for n in (6, 26))
        bad |= tell(" ".join((door, stack)), "answer", (many - few) / 20, most)
    with jobs_of(root, "", 37) as jobs:
        few, many = (count(sweep, ["sweep", jobs.name, str(n)]) for n in (3, 23))
    return bad | tell("sweep", "configuration", (many - few) / 20, SWEEP)


def tell(name, what, took, most):
    print("%-24s %8.2f M a %s, at most %.1f%s" % (name, took, what, most, "" if took <= most else ": TOO MANY"))
    return took > most


if __name__ == "__main__":
    sys.exit(main())

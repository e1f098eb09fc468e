#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: instructions.py PROGRAM SOURCE_ROOT [--all BENCH_CALLS]

Instructions of whole commands, and of one more answer of a process that answers many, counted by callgrind, against the most that each may take: what stands below is measured, plus a twentieth
for other compilers and C libraries. The dear ones run with --all. Skips by a message where valgrind is not installed.
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
    ("deepseek-v3 unfolded", "run --job ROOT/workloads/jobs/deepseek-v3-2048.args --unfold --brief", 1363, True),
    ("8B on 2 nodes, searched", "search --platform h800 --nodes 2 --model llama3.1-8b --bf16 --seq 8192 --gbs 128 --unconfirmed --workers 1", 908, True),
    ("1,048,576 GPUs folded", "run --job ROOT/workloads/jobs/405b-16k.args --nodes 131072 --gbs 1048576", 54.9, True),
)

CALLS = (  # whose answer, million instructions an answer: the mean of 20 jobs of tests/bench/sweep.txt with OTHER, four of which do not fit
    ("page", 31.8),
    ("library", 34.2),
)
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
    return bad | (every and count_calls(sys.argv[sys.argv.index("--all") + 1], root))


def count_calls(program, root):
    """By the difference of two runs, so that what a process pays once is not in it."""
    bad = 0
    with tempfile.NamedTemporaryFile("w") as jobs:
        with open(root + "/tests/bench/sweep.txt", encoding="ascii") as f:
            jobs.writelines("%s %s\n" % (line.strip(), OTHER) for line in f)
        jobs.flush()
        for door, most in CALLS:
            few, many = (count(program, [door, jobs.name, "37", str(n)]) for n in (6, 26))
            took = (many - few) / 20
            print("%-24s %8.2f M an answer, at most %.1f%s" % (door, took, most, "" if took <= most else ": TOO MANY"))
            bad |= took > most
    return bad


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: fails.py PROGRAM LIBRARY SOURCE_ROOT [--runs N | --step N] [--from N] [--most N] [--beyond N] [--seed N] [COMMAND...]

Runs commands with the allocation of number N failing, N = from, from + step, ... up to `most` or all that the command makes, and demands
the full answer, or a message and exit status 3, no part of a file, and no signal. A file that was whole before the memory ran out stays. Less content with exit status 0 is a failure. `--runs` takes the
stride that gives so many runs a command, which CI does. All numbers to 10,000, and of those beyond 5,000 drawn by a seed over all
commands: `cmake --build build --target memory-all`, hours; --from 1..K --step K are K parts of it.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

JOB = "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 32".split()
ROWS = ("id,iteration_ms,outcome,platform,stack,nodes,model,tp,pp,micro_batch,global_batch,seq_length,precision,flags\n"
        "a,900,ok,h800,megatron-2407,1,llama3.1-8b,4,1,1,32,4096,bf16,\n")
GIVEN = {"rows.csv": ROWS, "train.log": "elapsed time per iteration (ms): 1100.0 |\n" * 4, "job.args": " ".join(JOB) + "\n"}
COMMANDS = {
    "run": ["run", *JOB, "--engine", "native"],
    "json": ["run", *JOB, "--engine", "native", "--json"],
    "simgrid": ["run", *JOB, "--engine", "simgrid"],
    "report": ["run", *JOB, "--engine", "native", "--report", "out.html"],
    "trace": ["run", *JOB, "--engine", "native", "--trace", "out.json"],
    "plan": ["plan", *JOB, "--json"],
    "sweep": ["sweep", *JOB, "--vary", "tp=1,2", "--json"],
    "list": ["list"],
    "list-json": ["list", "--json"],
    "compare": ["compare", *JOB, "--with", "--tp 4", "--json"],
    "validate": ["validate", "rows.csv", "--json"],
    "import": ["platform", "import", "SRC/tests/unit/data/lstopo-h800-8-switch.xml"],
    "check": ["platform", "check", "SRC/platforms/h800.xml"],
    "program": ["program", "write", *JOB],
    "schedule": ["schedule", "search", "--pp", "4", "--microbatches", "8"],
    "search": ["search", *JOB, "--vary", "tp=1,2", "--vary", "pp=1,2", "--workers", "1"],
    "calibrate": ["calibrate", "--platform", "h800", "--prop", "ss.gemm.efficiency.bf16", "--log", "train.log", "--job", "job.args"],
    "explain": ["explain", *JOB, "--json"],
    "slower": ["check", *JOB, "--measured", "3s", "--json"],
    "logged": ["check", *JOB, "--log", "train.log"],
    "job": ["import", "--job", "job.args"],
    "ranks": ["run", *JOB, "--engine", "native", "--ranks-csv", "out.csv"],
}


def run(args, words, at):
    with tempfile.TemporaryDirectory(prefix="stepsim-memory-") as folder:
        for name, text in GIVEN.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        env = dict(os.environ, LD_PRELOAD=os.path.abspath(args.library), FAIL_AT=str(at))
        p = subprocess.run([os.path.abspath(args.program), *(w.replace("SRC", args.source) for w in words)], cwd=folder, env=env,
                           capture_output=True, timeout=3600)
        files = {}
        for name in sorted(os.listdir(folder)):
            if name not in GIVEN:
                with open(os.path.join(folder, name), "rb") as f:
                    files[name] = f.read()
    return p.returncode, p.stdout, files, p.stderr


def allocations(args, words):
    """Of the process of the command that makes most."""
    with tempfile.TemporaryDirectory(prefix="stepsim-memory-") as folder:
        os.environ["FAIL_COUNT"] = os.path.join(folder, "count")
        run(args, words, 0)
        with open(os.environ.pop("FAIL_COUNT"), encoding="ascii") as f:
            return max(map(int, f.read().split()))


def complaint(whole, got):
    if got[0] == whole[0]:
        return None if got[1:3] == whole[1:3] else "exit status %d, and another answer" % got[0]
    if got[0] != 3:
        return "exit status %d: %s" % (got[0], got[3][:200])
    if not got[3] and b'"error"' not in got[1]:
        return "exit status %d without a word" % got[0]
    parts = [name for name in got[2] if got[2][name] != whole[2].get(name)]
    return "exit status %d, and what is not whole: %s" % (got[0], ", ".join(parts)) if parts else None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("library")
    p.add_argument("source")
    p.add_argument("command", nargs="*")
    p.add_argument("--from", type=int, default=1, dest="first")
    p.add_argument("--step", type=int)
    p.add_argument("--runs", type=int, default=41)
    p.add_argument("--most", type=int, default=10000)
    p.add_argument("--beyond", type=int, default=0)
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_intermixed_args()
    args.source = os.path.abspath(args.source)
    bad = ran = failing = 0
    for name in args.command or COMMANDS:
        whole = run(args, COMMANDS[name], 0)
        if whole[0] not in (0, 5, 6, 7): # check has verdicts
            sys.exit("%s: %s" % (name, whole[3]))
        total = allocations(args, COMMANDS[name])
        most = min(args.most, total)
        numbers = list(range(args.first, most + 1, args.step or max(1, most // args.runs)))
        if args.beyond and total > most: # an equal share of the draws a command
            draw = random.Random("%d %s" % (args.seed, name))
            numbers += [draw.randint(most + 1, total) for _ in range(args.beyond)]
        print("%s: %d of %d allocations" % (name, len(numbers), total), flush=True)
        for at in numbers:
            got = run(args, COMMANDS[name], at)
            ran += 1
            failing += got[0] != whole[0]
            why = complaint(whole, got)
            if why:
                bad += 1
                print("%s, allocation %d: %s" % (name, at, why))
    print("%d runs, %d ended with an error, %d wrong" % (ran, failing, bad))
    sys.exit(1 if bad or not failing else 0)


if __name__ == "__main__":
    main()

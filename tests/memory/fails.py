#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: fails.py PROGRAM LIBRARY SOURCE_ROOT [--from N] [--step N] [--most N] [COMMAND...]

Runs commands with the allocation of number N failing, N = from, from + step, ... up to `most`, and demands the full answer, or a
message and exit status 3 (2 where the command line cannot be read), no file, and no signal. Less content with exit status 0 is a
failure. CI runs a stride; all numbers: --step 1 --most 10000.
"""
import argparse
import os
import subprocess
import sys
import tempfile

JOB = "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 32".split()
ROWS = ("id,iteration_ms,outcome,platform,stack,nodes,model,tp,pp,micro_batch,global_batch,seq_length,precision,flags\n"
        "a,900,ok,h800,megatron-2407,1,llama3.1-8b,4,1,1,32,4096,bf16,\n")
COMMANDS = {
    "run": ["run", *JOB, "--engine", "native"],
    "json": ["run", *JOB, "--engine", "native", "--json"],
    "simgrid": ["run", *JOB],
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
}


def run(args, words, at):
    with tempfile.TemporaryDirectory(prefix="stepsim-memory-") as folder:
        with open(os.path.join(folder, "rows.csv"), "w", encoding="utf-8") as f:
            f.write(ROWS)
        env = dict(os.environ, LD_PRELOAD=os.path.abspath(args.library), FAIL_AT=str(at))
        p = subprocess.run([os.path.abspath(args.program), *(w.replace("SRC", args.source) for w in words)], cwd=folder, env=env,
                           capture_output=True, timeout=60)
        files = {}
        for name in sorted(os.listdir(folder)):
            if name != "rows.csv":
                with open(os.path.join(folder, name), "rb") as f:
                    files[name] = f.read()
    return p.returncode, p.stdout, files, p.stderr


def complaint(whole, got):
    if got[0] == 0:
        return None if got[1:3] == whole[1:3] else "exit status 0, and another answer"
    if got[0] not in (2, 3):
        return "exit status %d: %s" % (got[0], got[3][:200])
    if not got[3] and b'"error"' not in got[1]:
        return "exit status %d without a word" % got[0]
    return "exit status %d, and files: %s" % (got[0], ", ".join(got[2])) if got[2] else None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("library")
    p.add_argument("source")
    p.add_argument("command", nargs="*")
    p.add_argument("--from", type=int, default=1, dest="first")
    p.add_argument("--step", type=int, default=61)
    p.add_argument("--most", type=int, default=2500)
    args = p.parse_args()
    args.source = os.path.abspath(args.source)
    bad = ran = failing = 0
    for name in args.command or COMMANDS:
        whole = run(args, COMMANDS[name], 0)
        if whole[0]:
            sys.exit("%s: %s" % (name, whole[3]))
        for at in range(args.first, args.most, args.step):
            got = run(args, COMMANDS[name], at)
            ran += 1
            failing += got[0] != 0
            why = complaint(whole, got)
            if why:
                bad += 1
                print("%s, allocation %d: %s" % (name, at, why))
    print("%d runs, %d ended with an error, %d wrong" % (ran, failing, bad))
    sys.exit(1 if bad or not failing else 0)


if __name__ == "__main__":
    main()

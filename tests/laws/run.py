#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generated jobs: what must agree about each (agree.py) and which laws they obey (laws.py). README.md has the tables.

    python3 tests/laws/run.py STEPSIM [--part agree|laws] [--jobs 2000] [--seed 1] [--shard 3/8] [--log FILE] [--only INDEX [--files FOLDER]]
    python3 tests/laws/run.py --table FILE...

With --log each job is a line of the file as soon as it is done; jobs that it has are not done again, so what is interrupted goes on.
Exit 1 if something differs; each such job is printed with the words to run it by hand.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import agree
import lab
import generate
import laws
from net import Binary, names_of


def examine(args, job, index, folder):
    """The line of one job: its words and every outcome."""
    bench = lab.Bench(os.path.abspath(args.program), os.path.abspath(args.tool), job, index, folder)
    line = {"index": index, "words": bench.words, "files": sorted(job.files), "kind": next(s[1] for s in job.seen if s[0] == "kind"),
            "seen": sorted("%s %s" % s for s in job.seen)}
    try:
        bench.run()
    except lab.Refused as why:
        return dict(line, refused=str(why))
    rows = []
    for name, source in (("agree", lambda: agree.checks(bench, args.most_events)), ("laws", lambda: laws.checks(bench))):
        if args.part not in ("both", name):
            continue
        try:
            rows += source()
        except lab.Refused as why:
            rows.append(("refused half way", "differs", str(why)))
        except (RuntimeError, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as why:
            rows.append(("broken", "differs", "%s: %s" % (type(why).__name__, str(why)[:300])))
    return dict(line, rows=rows)


def differing(line):
    return [row for row in line.get("rows", []) if row[1] == "differs"]


def tell(line, seed):
    """Everything that differs of a job, and how to see it again."""
    for name, _, detail in differing(line):
        print("job %d: %s: %s" % (line["index"], name, detail))
    if differing(line):
        print("  python3 tests/laws/run.py STEPSIM --seed %s --only %d --files FOLDER\n  (cd FOLDER && stepsim run %s)" % (
            seed, line["index"], " ".join(line["words"])), flush=True)


def table(lines):
    """Rows of Markdown, by check: how many outcomes of each verdict, and how far the furthest of those that are bounded is off."""
    counts, jobs, furthest = collections.defaultdict(collections.Counter), collections.defaultdict(set), collections.Counter()
    for line in lines:
        for name, verdict, detail in line.get("rows", []):
            counts[name][verdict] += 1
            jobs[name].add(line["index"])
            off = re.search(r"([0-9.e+-]+) %", detail) if verdict == "bounded" else None
            furthest[name] = max(furthest[name], float(off[1]) if off else 0)
    ran = [line for line in lines if "rows" in line]
    print("%d jobs drawn, %d refused by the framework's rules, %d compared, %d of them differ somewhere\n" % (
        len(lines), len(lines) - len(ran), len(ran), sum(1 for line in ran if differing(line))))
    heads = ("agrees", "marked", "bounded", "refused", "too long", "differs")
    print("| check | jobs | compared | %s | furthest |\n|---|%s" % (" | ".join(heads), "---:|" * (len(heads) + 3)))
    for name in sorted(counts):
        row = counts[name]
        print("| %s | %d | %d | %s | %s |" % (name, len(jobs[name]), sum(row.values()), " | ".join(str(row[h]) for h in heads),
                                              "%.2g %%" % furthest[name] if furthest[name] else ""))


def read_log(path):
    """Lines of a log; half a last line counts as never written."""
    lines = []
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for text in f:
                if text.endswith("\n"):
                    lines.append(json.loads(text))
    return lines


def indices(args):
    """Numbers of this shard, without end: a job that is refused counts for none."""
    part, parts = (int(n) for n in args.shard.split("/"))
    index = part - 1
    while True:
        yield index
        index += parts


def run(args):
    """Goes through the shard's jobs until as many as asked for have been compared."""
    parts = int(args.shard.split("/")[1])
    wanted = -(-args.jobs // parts)
    lines = read_log(args.log)
    done = {line["index"] for line in lines}
    compared = sum(1 for line in lines if "rows" in line)
    log = open(args.log, "a", encoding="utf-8") if args.log else None
    with tempfile.TemporaryDirectory(prefix="stepsim-laws-") as folder:
        names = names_of(Binary(args.program, folder))
    for index in [args.only] if args.only is not None else indices(args):
        if compared >= wanted:
            break
        job = None if index in done else generate.make(args.seed, index, names)
        if not job:
            continue
        with tempfile.TemporaryDirectory(prefix="stepsim-laws-") as folder:
            line = examine(args, job, index, args.files or folder)
        tell(line, args.seed)
        lines.append(line)
        compared += "rows" in line
        if log:
            log.write(json.dumps(line) + "\n")
            log.flush()
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="?")
    parser.add_argument("--tool", help="laws_programs; default: tests/laws_programs beside the program")
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--shard", default="1/1")
    parser.add_argument("--log")
    parser.add_argument("--most-events", type=int, default=agree.MOST_EVENTS, help="longest program that the reference replays")
    parser.add_argument("--part", choices=("agree", "laws", "both"), default="both")
    parser.add_argument("--only", type=int)
    parser.add_argument("--files")
    parser.add_argument("--table", nargs="+")
    args = parser.parse_args()
    if args.table:
        lines = [line for path in args.table for line in read_log(path)]
    else:
        args.tool = args.tool or os.path.join(os.path.dirname(os.path.abspath(args.program)), "tests", "laws_programs")
        lines = run(args)
    table(lines)
    return 1 if any(differing(line) for line in lines) or not any("rows" in line for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())

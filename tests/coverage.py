#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tests have run of sim/, by gcovr; fails below what the house asks for.

    tests/coverage.py BUILD [--all]

BUILD: a tree of the preset `coverage` whose tests have run. Prints all files, or those below the rooms' sums and the limits; exits 1
where the lines or branches of all, or the lines of one file, are fewer. The target `coverage` of the preset runs the tests and this.
"""
import argparse
import collections
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Percent of sim/: lines, branches; lines of each file.
LINES, BRANCHES, FILE_LINES = 96.0, 87.0, 85.0


def summary(build):
    words = ["gcovr", "--root", ROOT, "--filter", os.path.join(ROOT, "sim/"), "--object-directory", build, "--json-summary", "-",
             # threads count without locks, so that gcov may come to negative counts
             "--gcov-ignore-parse-errors", build]
    try:
        done = subprocess.run(words, capture_output=True, check=False)
    except FileNotFoundError:
        sys.exit("coverage.py: there is no gcovr here: apt-get install gcovr")
    if done.returncode:
        sys.exit("coverage.py: gcovr failed:\n" + done.stderr.decode(errors="replace")[-2000:])
    return json.loads(done.stdout)


def share(entry, what):
    return 100.0 * entry[what + "_covered"] / max(1, entry[what + "_total"])


def row(name, entry):
    print("%-44s %6d %6.1f %8d %6.1f" % (name, entry["line_total"], share(entry, "line"), entry["branch_total"], share(entry, "branch")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    whole = summary(os.path.abspath(args.build))
    rooms = collections.defaultdict(collections.Counter)
    for file in whole["files"]:
        for key in ("line_total", "line_covered", "branch_total", "branch_covered"):
            rooms[file["filename"].split("/")[1]][key] += file[key]
    low = [file for file in whole["files"] if file["line_total"] and share(file, "line") < FILE_LINES]
    print("%-44s %6s %6s %8s %6s" % ("", "lines", "%", "branches", "%"))
    for name in sorted(rooms):
        row(name, rooms[name])
    for file in whole["files"] if args.all else low:
        row(file["filename"], file)
    row("sim", whole)
    bad = ["lines: %.1f %%, %.1f %% are asked for" % (share(whole, "line"), LINES)] * (share(whole, "line") < LINES)
    bad += ["branches: %.1f %%, %.1f %% are asked for" % (share(whole, "branch"), BRANCHES)] * (share(whole, "branch") < BRANCHES)
    bad += ["%s: %.1f %% of its lines, %.1f %% are asked for" % (file["filename"], share(file, "line"), FILE_LINES) for file in low]
    for text in bad:
        print("coverage.py: " + text, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

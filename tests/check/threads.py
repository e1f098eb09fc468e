#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: threads.py PROGRAM [SOURCE_ROOT] [--table]

Public threads that ask whether a speed is right, as inputs of `stepsim check`: rows of tests/check/threads.csv with the job and what was
measured, in words of the program, and with the verdict and first suspect that it gives. No prediction was fitted to them. The program must
give these verdicts, and docs/guide/check.md must have the table, whose figures may move by 1 %. --table prints it.
"""
import csv
import json
import os
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[1:1] = [os.path.dirname(HERE)]

import close  # noqa: E402

WORDS = {"as-predicted": "as fast", "slower": "slower", "faster": "faster", "unclear": "no verdict"}


def ask(program, row):
    words = [os.path.abspath(program), "check", "--json", *shlex.split(row["job"]), *shlex.split(row["measured"])]
    p = subprocess.run(words, cwd=HERE, capture_output=True, text=True, check=False)
    answer = json.loads(p.stdout)
    if "error" in answer or p.returncode not in (0, 5, 6, 7) or p.returncode != answer["exit_status"]:
        raise SystemExit(f"{row['id']}: exit {p.returncode}: {p.stdout}{p.stderr}")
    return answer.get("rows", [answer]), answer.get("suspects", [])


def line(row, rows, suspects):
    """A line of the table of the guide."""
    times = "; ".join(f"{r['measured_ms'] / 1e3:.3g} s for {r['predicted_ms'] / 1e3:.3g} s: {WORDS[r['verdict']]}" for r in rows)
    suspect = f" ({suspects[0]['what']})" if suspects else ""
    name = "/".join(row["address"].split("/")[4::2]).replace("/", " #")
    return f"| [{name}]({row['address']}) | {times}{suspect} | {row['said']} | {'; '.join(x for x in (row['why'], row['assumed'] and 'assumed: ' + row['assumed']) if x)} |"


def main():
    program, root = sys.argv[1], os.path.join(HERE, "..", "..")
    lines, wrong = ["| thread | measured for predicted, verdict (first suspect) | said there | why it differs; what is assumed |", "|---|---|---|---|"], 0
    with open(os.path.join(HERE, "threads.csv"), encoding="utf-8", newline="") as f:
        table = list(csv.DictReader(f))
    for row in table:
        rows, suspects = ask(program, row)
        verdict, suspect = "; ".join(r["verdict"] for r in rows), suspects[0]["id"] if suspects else ""
        if (verdict, suspect) != (row["verdict"], row["suspect"]):
            print(f"{row['id']}: {verdict} ({suspect}), expected {row['verdict']} ({row['suspect']})", file=sys.stderr)
            wrong += 1
        lines.append(line(row, rows, suspects))
    if "--table" in sys.argv:
        print("\n".join(lines))
        return 0
    with open(os.path.join(root, "docs", "guide", "check.md"), encoding="utf-8") as f:
        shown = f.read().partition("<!-- threads begin -->\n")[2].partition("<!-- threads end -->")[0].splitlines()
    for at, old, new in close.differences(shown, lines):
        print(f"docs/guide/check.md, line {at} of the table:\n- {old}\n+ {new}", file=sys.stderr)
        wrong += 1
    if len({row["address"] for row in table}) < 15:
        print("fewer than 15 threads", file=sys.stderr)
        wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

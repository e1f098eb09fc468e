#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of "Layouts chosen" in docs/design/validation.md.

    python3 docs/design/layouts.py [PROGRAM]
    python3 docs/design/layouts.py --one-kind [PROGRAM]

--one-kind prints the pairs and errors of nanotron.csv without pipelines over nodes, which ran with two configurations
(docs/design/calibration-log.md, "Layouts a third time").
"""
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
ONE_KIND = sys.argv[1:2] == ["--one-kind"]
GIVEN = sys.argv[1 + ONE_KIND:]
PROGRAM = os.path.realpath(GIVEN[0] if GIVEN else os.path.join(TOP, "build", "stepsim"))
WORDS = [PROGRAM, "validate", "--regret", "nanotron", "alephalpha", "runs", "vtrain", "--json"]
STUDIES = ("nanotron", "alephalpha")


def show(value, form="%.1f"):
    return "" if value is None else form % value


def line(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def head(*cells):
    print()
    line(*cells)
    print("|---" * len(cells) + "|")


def one_kind():
    with open(os.path.join(TOP, "validation", "nanotron.csv"), encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    kept = [r for r in rows if int(r["nodes"]) == 1 or int(r["pp"]) == 1]
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8", newline="") as f:
        out = csv.DictWriter(f, rows[0])
        out.writeheader()
        out.writerows(kept)
        f.flush()
        words = [PROGRAM, "validate", f.name, "--json"]
        told, chosen = (json.loads(subprocess.run(words + more, cwd=TOP, check=True, capture_output=True).stdout) for more in ([], ["--regret"]))
    tp = {r["id"]: int(r["tp"]) for r in kept}
    errors = [(tp[r["id"]], abs(r["error_pct"])) for r in told["rows"] if r.get("error_pct") is not None]
    pairs = chosen["regret"][0]["mean"]
    head("without pipelines over nodes", "rows that ran", "median error of time %", "pairs right %")
    line("all", len(errors), show(statistics.median(e for _, e in errors)), show(pairs["pairs_right_pct"], "%.0f"))
    line("tensor ranks on one node", sum(t <= 8 for t, _ in errors), show(statistics.median(e for t, e in errors if t <= 8)), "")


if ONE_KIND:
    sys.exit(one_kind())
tables = json.loads(subprocess.run(WORDS, cwd=TOP, check=True, capture_output=True).stdout)["regret"]
head("table", "jobs", "mean regret %", "worst", "best of three", "pairs right %", "of", "ran, predicted to run", "out of memory, predicted too large")
for t in tables:
    m, ran, oom = t["mean"], t["rows_that_ran"]["all"]["outcomes"], t["oom"]
    line(t["table"], len(t["groups"]), show(m["regret_pct"]), show(t["worst_regret_pct"]), show(m["regret_of_3_pct"]), show(m["pairs_right_pct"], "%.0f"),
         m["pairs"], f"{ran['right']} of {ran['n']}", f"{oom['right']} of {oom['n']}" if oom["n"] else "")
head("nanotron: model on GPUs", "ran", "regret %", "best of three", "pairs right %", "predicted best", "measured best")
for g in tables[0]["groups"]:
    line(f"{g['model']} on {g['gpus']}", g["ran"], show(g["regret_pct"]), show(g["regret_of_3_pct"]), show(g["pairs_right_pct"], "%.0f"), g["chosen"], g["best"])
head("rows that ran", "n", "time: mean error %", "median", "bias", "n", "memory: median error %", "bias")
for t in tables:
    for part, name in ("rows_that_ran", ""), ("tp", "tp "), ("micro_batch", "micro batch "), ("mfu", "MFU "):
        for value, s in t[part].items() if t["table"] in STUDIES else ():
            time, memory = s["time"], s["memory"]
            line(f"{t['table']}, {name}{value}", time["n"], show(time["mean_abs_pct"]), show(time["median_abs_pct"]), show(time["bias_pct"], "%+.1f"),
                 memory["n"] or "", show(memory["median_abs_pct"]), show(memory["bias_pct"], "%+.1f"))

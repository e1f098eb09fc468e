#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of "Layouts chosen" in docs/design/validation.md.

    python3 docs/design/layouts.py [PROGRAM]
"""
import json
import os
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROGRAM = os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "build", "stepsim"))
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

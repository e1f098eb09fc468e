#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: models.py PROGRAM [--check]

Prints docs/reference/models.md: the parameters of public models as `stepsim list models` counts them beside the figures of
docs/reference/models.csv. Exit status 1 where a count is not the published one to its digits. --check prints only what is
wrong; the page on the disk must also be the one that would be printed.
"""
import csv
import json
import os
import subprocess
import sys
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

HERE = os.path.dirname(os.path.abspath(__file__))
UNITS = {"": 0, "M": 6, "B": 9, "T": 12}


def counted(model, active, words, beside):
    """Parameters of what the words name; every word must be known."""
    n = model["active_parameters" if active else "parameters"]
    for word in words.split():
        n += {"all": 0, "cut": 0, "-input": -model["input_parameters"],
              "-embeddings": -model["input_parameters"] - model["output_parameters"],
              "+mtp": model["mtp_active_parameters" if active else "mtp_parameters"],
              "+tied": model["input_parameters"], "+beside": int(beside or 0)}[word]
    return n


def to_digits(n, published, words):
    """n in the unit and with the digits of the published figure."""
    number, unit = (published[:-1], published[-1]) if published[-1].isalpha() else (published, "")
    step = Decimal(1).scaleb(Decimal(number).as_tuple().exponent)
    scaled = Decimal(n).scaleb(-UNITS[unit])
    return str(scaled.quantize(step, ROUND_DOWN if "cut" in words.split() else ROUND_HALF_UP)) + unit


def read_rows():
    with open(os.path.join(HERE, "reference", "models.csv"), encoding="utf-8") as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


def page(rows, models):
    """(text, list of what is wrong)"""
    wrong = []
    lines = ["# Parameters of public models", "",
             "Made by docs/models.py: what `stepsim` counts from `workloads/models/NAME.json` beside what is published (docs/reference/models.csv). A test",
             "compares every figure to its digits.", "",
             "Publishers count different things. `all`: both embeddings, without multi-token prediction; `-input`: without the input embedding, which is looked up, not",
             "multiplied; `-embeddings`: without the output layer too; `+mtp`: with multi-token prediction; `+tied`: an output layer that is the input embedding is counted",
             "again, as in the files of the weights; `+beside`: with parameters that are not the language model's (see the remarks); `cut`: digits are cut off, not rounded.",
             "Active are the parameters that a token meets: its experts of each mixture, the shared ones, the routers and all that is dense.", "",
             "| model | all | all active | published | of | active | of | source |", "|---|---|---|---|---|---|---|---|"]
    remarks = []
    for row in rows:
        model, cells = models.get(row["model"]), []
        if not model:
            wrong.append("%s: no such model" % row["model"])
            continue
        for kind in ("total", "active"):
            published, words = row[kind], row[kind + "_counted"]
            if published:
                n = counted(model, kind == "active", words, row["beside"])
                if to_digits(n, published, words) != published:
                    wrong.append("%s: %s %s counted is %d, published %s" % (row["model"], kind, words, n, published))
            cells += [published, words]
        active = model["active_parameters"]
        lines.append("| %s | %s | %s | %s | %s |" % (row["model"], "{:,}".format(model["parameters"]),
                     "{:,}".format(active) if active != model["parameters"] else "", " | ".join(cells), row["source"]))
        if row["remark"]:
            remarks.append("- %s: %s." % (row["model"], row["remark"]))
    return "\n".join(lines + ["", "Remarks:", ""] + remarks) + "\n", wrong


def main():
    listed = json.loads(subprocess.run([sys.argv[1], "list", "models", "--json"], check=True, capture_output=True).stdout)
    text, wrong = page(read_rows(), {m["name"]: m for m in listed["models"]})
    if "--check" in sys.argv[2:]:
        with open(os.path.join(HERE, "reference", "models.md"), encoding="utf-8") as f:
            if f.read() != text:
                wrong.append("docs/reference/models.md is not what docs/models.py prints: run docs/refresh.sh")
    else:
        sys.stdout.write(text)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

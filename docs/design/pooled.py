#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: pooled.py FILE...
Prints lines of a table: median error and bias of rows that "stepsim calibrate --microbench TABLE --json" wrote to the files."""
import json
import statistics
import sys

SMALL = ("< 1 MiB", "< 64 MiB")


def collective(row):
    return row["kind"].startswith("collective") and "EP" not in row["kind"]


def across(row):
    return collective(row) and "across nodes" in row["kind"]


def small(row):
    return collective(row) and row["kind"].endswith(SMALL)


def kernel(row, *kinds):
    return row["platform"] == "b200" and row["kind"].startswith(kinds)


def single(row):
    return not row["kind"].endswith("both passes")


POOLS = [
    ("collectives below 64 MiB", small),
    ("collectives across nodes", across),
    ("either", lambda row: small(row) or across(row)),
    ("b200: GEMMs of one matrix", lambda row: kernel(row, "gemm")),
    ("b200: grouped GEMMs, a kernel each", lambda row: kernel(row, "grouped_gemm") and single(row)),
    ("b200: grouped GEMMs, forward and backward with all casts", lambda row: kernel(row, "grouped_gemm") and not single(row)),
    ("b200: all of these, and attention", lambda row: kernel(row, "gemm", "grouped_gemm", "attention")),
]


def main():
    rows = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as f:
            rows += [row for row in json.load(f)["rows"] if row.get("predicted_us")]
    for name, of in POOLS:
        errors = [100 * (row["predicted_us"] / row["measured_us"] - 1) for row in rows if of(row)]
        median = statistics.median(abs(e) for e in errors)
        print(f"| {name} | {len(errors)} | {median:.1f} | {statistics.mean(errors):+.1f} |")


main()

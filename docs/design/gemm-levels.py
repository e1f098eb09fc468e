#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Levels of GEMMs by how long a kernel takes, of NVIDIA's table (validation/aic-gemm.csv.gz): a burst, and the board's power limit.

A level is the share of the peak that the equation of docs/reference/model.md needs, without casts, launches, the prologue of the
card's curve and the last wave of SMs. Sizes of 2,048 and more; medians, with the number of rows.
"""
import collections
import csv
import gzip
import math
import os
import re
import statistics

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
KINDS = {  # precision of the table: peak, prologue, bytes of an element of the input that casts move (sim/cost/curve.c)
    "bfloat16": ("bf16", "bf16", 0),
    "fp8": ("fp8", "fp8", 5),
    "fp8_block": ("fp8", "fp8_blocks", 3),
    "nvfp4": ("fp4", "fp4", 4 + 9 / 16),
}
CARDS = {"H100-80GB SXM": "h100", "H200 SXM": "h200", "B200 SXM": "b200", "GB200": "gb200"}
EDGES = (0, 0.8e-3, 3.2e-3, 10e-3, math.inf)
UNITS = {"": 1, "G": 1e9, "T": 1e12, "P": 1e15}


def props(card):
    with open(os.path.join(ROOT, "platforms", "cards", card + ".xml"), encoding="utf-8") as f:
        own = dict(re.findall(r'id="ss\.([^"]*)" value="([^"]*)"', f.read()))
    return {**(props(own["card.base"]) if "card.base" in own else {}), **own}


def number(text):
    value, unit = re.match(r"([0-9.e+]+)([GTP]?)", text).groups()
    return float(value) * UNITS[unit]


def level(card, kind, m, n, k, rate):
    peak, prologue, cast = KINDS[kind]
    seconds = 2 * m * n * k / (rate * 1e12)
    moved = cast * m * k / (number(card["hbm.bandwidth"]) * number(card.get("curve.cast", "0.677")))
    sms = number(card["sm_count"])
    tiles = math.ceil(m / 128) * math.ceil(n / 256)
    steps = (k + number(card["curve.prologue." + prologue])) * math.ceil(tiles / sms) * sms / tiles
    return seconds, 2 * m * n * steps / ((seconds - moved) * number(card["peak." + peak]))


def main():
    levels = collections.defaultdict(list)
    with gzip.open(os.path.join(ROOT, "validation", "aic-gemm.csv.gz"), "rt", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            m, n, k = (int(x) for x in re.findall(r"=(\d+)", row["shape_or_bytes"]))
            name = CARDS.get(row["gpu"])
            if name and min(m, n, k) >= 2048:
                seconds, share = level(props(name), row["precision"], m, n, k, float(row["measured value"]))
                levels[name, row["precision"], sum(seconds >= e for e in EDGES)].append(share)
    print("| card | precision | below 0.8 ms | 0.8 to 3.2 | 3.2 to 10 | 10 ms and more |\n|---|---|---|---|---|---|")
    for name in CARDS.values():
        for kind in KINDS:
            cells = [levels[name, kind, i] for i in range(1, len(EDGES))]
            if any(cells):
                text = (f"{statistics.median(c):.3f} ({len(c)})" if c else "-" for c in cells)
                print(f"| {name} | {kind} | {' | '.join(text)} |")


if __name__ == "__main__":
    main()

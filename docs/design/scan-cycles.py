#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ss.scan.cycles of a card from the sister kernels of Mamba-2's scan, gated delta nets' and Kimi's (validation/aic-linear.csv.gz).

All are Triton's chunked kernels. How long they take on a card over an H100, in the median of the shapes that fill it, is what the scan takes
over its own on an H100, of which a share is HBM's (docs/reference/model.md).
"""
import collections
import csv
import gzip
import os
import re
import statistics

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
KERNELS = ("gdn:chunk_gated_delta_rule", "kda:chunk_kda")
CARDS = {"B200 SXM": ("b200", 7.7e12, 148 * 1.965e9), "GB200": ("gb200", 8e12, 152 * 2.056e9)}
H100 = ("H100-80GB SXM", 3.35e12, 132 * 1.98e9)
STREAM, CYCLES = 0.88, 0.106  # ss.curve.stream; ss.scan.cycles of an H100
FULL = 2**19  # tokens times heads


def main():
    times = collections.defaultdict(dict)
    with gzip.open(os.path.join(ROOT, "validation", "aic-linear.csv.gz"), "rt", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            size = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", row["shape_or_bytes"])}
            if row["kind"] in KERNELS and size["batch_size"] * size["seq_len"] * size["num_v_heads"] >= FULL:
                times[row["kind"], row["shape_or_bytes"]][row["gpu"]] = float(row["measured value"])
    byte = 1 / (H100[1] * STREAM) + CYCLES / H100[2]
    for gpu, (name, hbm, clocks) in CARDS.items():
        shares = []
        for kind in KERNELS:
            ratios = [t[gpu] / t[H100[0]] for (k, _), t in times.items() if k == kind and gpu in t and H100[0] in t]
            shares.append(statistics.median(ratios))
            print(f"{name} {kind}: {shares[-1]:.3f} of an H100's time ({len(ratios)} shapes)")
        share = statistics.mean(shares)
        print(f"{name}: {share:.3f}, ss.scan.cycles {(share * byte - 1 / (hbm * STREAM)) * clocks:.3f}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a published line tells is enough: rows of NVIDIA's tables (Megatron-Bridge) without what their source does not print.

    stripped.py STEPSIM TABLE...

Of each row stay the columns of the published table: model, GPUs, precision, degrees, microbatch, batch, sequence, FSDP. The recipe of the release
must stand in for the rest. Per card, and apart for mixtures and dense models, the mean error may be 1.3 times that of the rows as told, and none
may be refused. The bands, which hold what the recipe's words may cost, must hold 85 % of what was measured, per card and kind; without these
words' cost they hold less. What is known to fall short has a row in LOOSE, with the figure that it has.
"""
import collections
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

FACTOR = 1.3
HELD = 85
# Two of these rows are slower by 45 and 50 % as told, too, and one is faster than its band by a thousandth of a per cent.
LOOSE = {("B200-180GB", "mixture"): 81}
# 25.11's recipe of GPT-OSS on B200 in bf16, by 2 %, and 25.09's line of Llama-3 70B with microbatches of 2, as told.
TOO_LARGE = 2


def held(row):
    """Whether the band holds what was measured, and whether it would without what was assumed."""
    figures, over = row["figures"], 100 * (row["measured_ms"] / row["predicted_ms"] - 1)
    return figures["error_band_low_pct"] <= over <= figures["error_band_high_pct"], abs(row["error_pct"]) <= figures["error_band_pct"]


def errors(program, rows, folder):
    """Per id what is predicted: the error of the time in %, None where it is refused, the outcome, and whether the bands hold."""
    table, out = os.path.join(folder, "rows.csv"), os.path.join(folder, "out.json")
    with open(table, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    subprocess.run([program, "validate", table, "--json", "--output", out], check=True)
    with open(out, encoding="utf-8") as file:
        return {r["id"]: (r["error_pct"], r["predicted_outcome"], held(r) if r["predicted_ms"] else None) for r in json.load(file)["rows"]}


def stripped(row):
    recipe = re.search(r"--fp8-recipe \S+", row["flags"])
    return {**row, "flags": recipe.group(0) if recipe else "", "recompute": "unknown", "recompute_num_layers": "", "cpu_offload": "",
            "tp_comm_overlap": "", "grad_param_overlap": ""}


def main():
    program, wrong, large = sys.argv[1], [], []
    groups = collections.defaultdict(lambda: ([], [], []))
    for table in sys.argv[2:]:
        with open(table, newline="", encoding="utf-8") as file:
            rows = [r for r in csv.DictReader(file) if r["id"].startswith("mbridge") and r["outcome"] == "ok"]
        with tempfile.TemporaryDirectory() as folder:
            told, bare = errors(program, rows, folder), errors(program, [stripped(r) for r in rows], folder)
        for row in rows:
            kind = ("hybrid" if row["model"].startswith("nemotron-3-") else
                    "mixture" if row["model"].startswith(("qwen3", "gpt-oss", "deepseek", "kimi")) else "dense")
            error, outcome, holds = bare[row["id"]]
            if error is None:
                wrong.append(f"{row['id']} is refused: {outcome}")
                continue
            large += [row["id"]] if outcome == "oom" else []
            group = groups[row["gpu"], kind]
            group[1].append(abs(error))
            group[2].append(holds)
            if told[row["id"]][0] is not None:
                group[0].append(abs(told[row["id"]][0]))
    for key, (told, bare, bands) in groups.items():
        mean, base = sum(bare) / len(bare), sum(told) / len(told)
        inside, before = (100 * sum(holds[i] for holds in bands) / len(bands) for i in (0, 1))
        print(f"{key[0]:12} {key[1]:8} {len(bare):3} rows  told {base:5.2f} %  stripped {mean:5.2f} %"
              f"  bands hold {inside:3.0f} %, without what is assumed {before:3.0f} %")
        if inside < LOOSE.get(key, HELD):
            wrong.append(f"{key[0]} {key[1]}: the bands hold {inside:.0f} %")
        if mean > FACTOR * base:
            wrong.append(f"{key[0]} {key[1]}: {mean:.2f} % is more than {FACTOR} times {base:.2f} %")
    for kind in ("mixture", "dense"):
        all_of = [holds[0] for key, group in groups.items() if key[1] == kind for holds in group[2]]
        if 100 * sum(all_of) < HELD * len(all_of):
            wrong.append(f"{kind}: the bands hold {sum(all_of)} of {len(all_of)}")
    print(f"called too large: {', '.join(large) or 'none'}")
    if len(groups) < 5 or len(large) > TOO_LARGE:
        wrong.append(f"{len(groups)} groups; called too large: {', '.join(large)}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

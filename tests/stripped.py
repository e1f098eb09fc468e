#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a published line tells is enough: rows of NVIDIA's tables (Megatron-Bridge) without what their source does not print.

    stripped.py STEPSIM TABLE...

Of each row stay the columns of the published table: model, GPUs, precision, degrees, microbatch, batch, sequence, FSDP. The recipe of the release
must stand in for the rest. Per card, and apart for mixtures and dense models, the mean error may be 1.3 times that of the rows as told, and none
may be refused.
"""
import collections
import csv
import os
import re
import subprocess
import sys
import tempfile

FACTOR = 1.3
# 25.11's recipe of GPT-OSS on B200 in bf16, by 2 %, and 25.09's line of Llama-3 70B with microbatches of 2, as told.
TOO_LARGE = 2


def errors(program, rows, folder):
    """Per id what is predicted: the error of the time in %, None where it is refused, and whether it fits."""
    table, out = os.path.join(folder, "rows.csv"), os.path.join(folder, "out.csv")
    with open(table, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    subprocess.run([program, "validate", table, "--csv", out], stdout=subprocess.DEVNULL, check=True)
    with open(out, newline="", encoding="utf-8") as file:
        return {r["id"]: (float(r["error_pct"]) if r["error_pct"] else None, r["predicted_outcome"]) for r in csv.DictReader(file)}


def stripped(row):
    recipe = re.search(r"--fp8-recipe \S+", row["flags"])
    return {**row, "flags": recipe.group(0) if recipe else "", "recompute": "unknown", "recompute_num_layers": "", "cpu_offload": "",
            "tp_comm_overlap": "", "grad_param_overlap": ""}


def main():
    program, wrong, large = sys.argv[1], [], []
    groups = collections.defaultdict(lambda: ([], []))
    for table in sys.argv[2:]:
        with open(table, newline="", encoding="utf-8") as file:
            rows = [r for r in csv.DictReader(file) if r["id"].startswith("mbridge") and r["outcome"] == "ok"]
        with tempfile.TemporaryDirectory() as folder:
            told, bare = errors(program, rows, folder), errors(program, [stripped(r) for r in rows], folder)
        for row in rows:
            kind = "mixture" if row["model"].startswith(("qwen3", "gpt-oss", "deepseek", "kimi")) else "dense"
            error, outcome = bare[row["id"]]
            if error is None:
                wrong.append(f"{row['id']} is refused: {outcome}")
                continue
            large += [row["id"]] if outcome == "oom" else []
            group = groups[row["gpu"], kind]
            group[1].append(abs(error))
            if told[row["id"]][0] is not None:
                group[0].append(abs(told[row["id"]][0]))
    for key, (told, bare) in groups.items():
        mean, base = sum(bare) / len(bare), sum(told) / len(told)
        print(f"{key[0]:12} {key[1]:8} {len(bare):3} rows  told {base:5.2f} %  stripped {mean:5.2f} %")
        if mean > FACTOR * base:
            wrong.append(f"{key[0]} {key[1]}: {mean:.2f} % is more than {FACTOR} times {base:.2f} %")
    print(f"called too large: {', '.join(large) or 'none'}")
    if len(groups) < 5 or len(large) > TOO_LARGE:
        wrong.append(f"{len(groups)} groups; called too large: {', '.join(large)}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

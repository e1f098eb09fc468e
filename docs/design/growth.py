# SPDX-License-Identifier: Apache-2.0
"""usage: python3 docs/design/growth.py [PROGRAM]: what a token costs with more GPUs, measured and predicted, as a Markdown table.

Rows of validation/foreign.csv and foreign-2.csv that differ in the number of nodes and the batch alone (and of MLPerf in what follows
from it), from the fewest GPUs to the most: GPU time a token, over that with the fewest. Nothing is fitted on them.
"""
import csv
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build", "stepsim")
TABLES = ("foreign", "foreign-2")
# Families: beginning of the ids, words, and the fewest GPUs that the comparison begins with
FAMILIES = (
    ("dgxc2411-nemotron4-340b-fp8-", "Nemotron-4 340B, fp8, NeMo 24.09", 128),
    ("dgxc2411-nemotron4-340b-bf16-", "Nemotron-4 340B, bf16, NeMo 24.09", 128),
    ("dgxc2411-llama3.1-405b-fp8-", "Llama-3.1 405B, fp8, NeMo 24.09", 576),
    ("dgxc2411-llama3.1-405b-bf16-", "Llama-3.1 405B, bf16, NeMo 24.09", 576),
    ("mpt-h100_80gb-bf16-7b-s2048-", "MPT 7B, bf16, FSDP", 8),
    ("mpt-h100_80gb-bf16-3b-s2048-", "MPT 3B, bf16, FSDP", 16),
    ("mpt-h100_80gb-bf16-1b-s2048-", "MPT 1B, bf16, FSDP", 8),
    ("mlperf50-llama3.1-405b-h100-", "MLPerf v5.0 Llama-3.1 405B, 1,152 sequences on all", 512),
)


def predictions(table, *words):
    with tempfile.NamedTemporaryFile(suffix=".csv") as f:
        os.unlink(f.name)
        subprocess.run([PROGRAM, "validate", table, "--csv", f.name] + list(words), cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(f.name, encoding="utf-8") as rows:
            answer = {r["id"]: r for r in csv.DictReader(rows)}
        open(f.name, "w", encoding="utf-8").close()
        return answer


def tokens(table):
    with open(os.path.join(ROOT, "validation", table + ".csv"), encoding="utf-8") as f:
        return {r["id"]: float(r["global_batch"]) * float(r["seq_length"]) for r in csv.DictReader(f)}


def main():
    rows, even, size = {}, {}, {}
    for table in TABLES:
        rows.update(predictions(table))
        even.update(predictions(table, "--spread", "0"))
        size.update(tokens(table))
    print("| run | GPUs | measured | predicted | off, points | with GPUs that do not differ |")
    print("|---|---|---|---|---|---|")
    for begin, name, fewest in FAMILIES:
        ids = sorted((i for i in rows if i.startswith(begin) and int(rows[i]["gpus"]) >= fewest
                      and rows[i]["measured_ms"] and rows[i]["predicted_ms"]), key=lambda i: int(rows[i]["gpus"]))

        def cost(i, of, column):
            return float(of[i][column]) * int(of[i]["gpus"]) / size[i]

        for i in ids[1:]:
            measured, predicted, flat = (100 * (cost(i, of, column) / cost(ids[0], of, column) - 1) for of, column in
                                         ((rows, "measured_ms"), (rows, "predicted_ms"), (even, "predicted_ms")))
            print("| %s | %s to %s | %+.1f %% | %+.1f %% | %+.1f | %+.1f %% |" % (
                name, rows[ids[0]]["gpus"], rows[i]["gpus"], measured, predicted, predicted - measured, flat))
            name = ""


main()

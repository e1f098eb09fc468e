#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which layout for 1B and 8B on 8 to 512 H100: `stepsim search` held against the layouts that were measured.

    python3 docs/guide/study-layouts.py [PROGRAM] > docs/guide/study-layouts.md
"""
import collections
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROGRAM = os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "build", "stepsim"))
RANKS = (1, 2, 4, 8, 16, 32)
NEAR = 1.5  # a layout that one might choose takes so many times the best of its job at most


def measured(table):
    """Rows of a table of validation/ with `key`, their layout, and `s` and `predicted`, in s (None: has not run)."""
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "p.csv")
        subprocess.run([PROGRAM, "validate", table, "--csv", name], cwd=TOP, check=True, capture_output=True)
        with open(name, encoding="utf-8") as rows:
            predicted = {row["id"]: float(row["predicted_ms"]) / 1000 for row in csv.DictReader(rows) if row["predicted_ms"]}
    with open(os.path.join(TOP, "validation", table + ".csv"), encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            row["s"] = float(row["iteration_ms"]) / 1000 if row["outcome"] == "ok" else None
            row["predicted"] = predicted.get(row["id"])
            row["key"] = int(row["tp"]), int(row["pp"]), int(row["micro_batch"]), row["optimizer"] == "distributed", row["recompute"]
            yield row


def words(row):
    """The job of a row without its layout."""
    names = ("num_layers", "hidden_size", "ffn_hidden_size", "num_attention_heads", "vocab_size")
    return (f"--platform h100 --nodes {row['nodes']} --stack nanotron-2025 --recipe none " +
            " ".join(f"--{name.replace('_', '-')} {row[name]}" for name in names) +
            " --swiglu --disable-bias-linear --normalization RMSNorm --position-embedding-type rope --bf16 --use-flash-attn --cp 1 --recompute none" +
            f" --gbs {row['global_batch']} --seq {row['seq_length']} --make-vocab-size-divisible-by 1 --accumulate-allreduce-grads-in-fp32 --overlap-grad-reduce" +
            ("" if row["tied_embeddings"] == "true" else " --untie-embeddings-and-output-weights"))


def search(row, pipelines):
    """Layouts that fit, best first, of all pipelines, split as the table has them: [(s, key, band)]; and how many there are."""
    found, layouts = [], 0
    for pp, split in sorted(pipelines.items()):
        run = subprocess.run([PROGRAM, "search", *words(row).split(), "--pp", str(pp), *split, "--vary", "tp=" + ",".join(map(str, RANKS)), "--vary",
                              "use-distributed-optimizer=on,off", "--vary", "fsdp=off", "--unconfirmed", "--json"], stdout=subprocess.PIPE, check=False)
        if run.returncode not in (0, 1, 3):
            sys.exit(run.returncode)
        answer = json.loads(run.stdout)
        layouts += sum(g["predicted"] + g["bounded"] + g["too_large"] for g in answer.get("groups", ()))
        found += [(p["iteration_ms"] / 1000, (p["tp"], p["pp"], p["micro_batch"], "--use-distributed-optimizer" in p["flags"], "none"), p["error_band_pct"])
                  for p in answer.get("points", ()) if p["verdict"] == "fits"]
    return sorted(found), layouts


def layout(key):
    return f"tp {key[0]} pp {key[1]} mbs {key[2]}" + (" ZeRO-1" if key[3] else "")


def line(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def head(*cells):
    print()
    line(*cells)
    print("|---" * len(cells) + "|")


def write_search(jobs, splits):
    print(f"""## The best of a search

`stepsim search` over tensor ranks of {', '.join(map(str, RANKS))}, pipelines of 1 to 8 stages split as nanotron splits them, all micro batches, ZeRO-1 and none; the fastest that surely fits.
*costs*: what that layout was measured at, over the best measured, less 1. The search predicts each layout of the table as `validate` does, whose `--regret` chooses what is near the limit of the memory behind all that fit.""")
    head("model", "GPUs", "layouts", "found best", "predicted, s", "measured, s", "costs %", "measured best", "measured, s", "predicted, s", "slower than found, predicted %")
    costs, alike = [], 0
    for (model, gpus), rows in jobs.items():
        found, layouts = search(rows[0], splits[model])
        by_key = {row["key"]: row for row in rows}
        best = min((row for row in rows if row["s"]), key=lambda row: row["s"])
        s, key, band = found[0]
        alike += 100 * (best["predicted"] / s - 1) <= band
        own = by_key.get(key)
        cost = own["s"] / best["s"] - 1 if own and own["s"] else None
        costs += [cost] if cost is not None else []
        line(model, gpus, layouts, layout(key), f"{s:.3f}", f"{own['s']:.3f}" if own and own["s"] else "out of memory" if own else "not tried",
             "" if cost is None else f"{100 * cost:.1f}", layout(best["key"]), f"{best['s']:.3f}", f"{best['predicted']:.3f}", f"{100 * (best['predicted'] / s - 1):.1f}")
    print(f"\nOf the {len(jobs)} layouts found, {len(costs)} were measured; they cost {100 * statistics.mean(costs):.1f} % on average and {100 * statistics.median(costs):.1f} % in the median "
          f"over the best measured. In {alike} of {len(jobs)} jobs the measured best is within the band of the one found: too close to call.")


def write_ranks(jobs, title):
    print(f"""
## {title}

The best measured time with so many tensor ranks over the best of all, less 1, in %; behind it the same of what is predicted for rows that ran.""")
    ranks = [tp for tp in RANKS if any(row["s"] and row["key"][0] == tp for rows in jobs.values() for row in rows)]
    head("model", "GPUs", *(f"tp {tp}" for tp in ranks))
    wins, nearest = 0, 1e9
    for (model, gpus), rows in jobs.items():
        ran = [row for row in rows if row["s"]]
        best = {what: min(row[what] for row in ran) for what in ("s", "predicted")}
        cells = []
        for tp in ranks:
            own = [row for row in ran if row["key"][0] == tp]
            over = [100 * (min(row[what] for row in own) / best[what] - 1) for what in best] if own else None
            cells.append(f"{over[0]:.0f} ({over[1]:.0f})" if over else "")
            if over and tp >= 16:
                wins += over[0] == 0
                nearest = min(nearest, over[0])
        line(model, gpus, *cells)
    if nearest < 1e9:
        print(f"\nMeasured, tp 16 or 32, which leaves the node of eight GPUs, is the best in {wins} of {len(jobs)} jobs; at the nearest it is {nearest:.0f} % slower.")


def write_micro(jobs, title):
    print(f"""
## {title}

Pairs of layouts that ran and differ in the micro batch alone, which one of them has twice as large; what the larger one changes in the time, in %, median over pairs. Only layouts of which the faster takes
{NEAR} times the best measured of its job at most.""")
    head("model", "micro batch", "pairs", "measured %", "predicted %", "larger is faster, measured", "predicted")
    for model in sorted({model.split(",")[0] for model, _ in jobs}):
        steps = collections.defaultdict(list)
        for (name, _), rows in jobs.items():
            by_key = {row["key"]: row for row in sorted(rows, key=lambda row: -(row["s"] or 0)) if row["s"]}  # the faster where one was measured twice
            best = min(row["s"] for row in by_key.values())
            for key, row in by_key.items() if name.split(",")[0] == model else ():
                twice = by_key.get((*key[:2], 2 * key[2], *key[3:]))
                if twice and min(row["s"], twice["s"]) <= NEAR * best:
                    steps[key[2]].append((twice["s"] / row["s"] - 1, twice["predicted"] / row["predicted"] - 1))
        for mbs, pairs in sorted(steps.items()):
            line(model, f"{mbs} to {2 * mbs}", len(pairs), *(f"{100 * statistics.median(p[i] for p in pairs):+.1f}" for i in (0, 1)),
                 *(sum(p[i] < 0 for p in pairs) for i in (0, 1)))


def write_a100():
    """The same of the other study, in which kernels and recompute differ, too."""
    jobs = collections.defaultdict(list)
    for row in measured("alephalpha"):
        jobs[f"{row['model']}, {row['seq_length']} tokens, {row['note']}", 8 * int(row["nodes"])].append(row)
    jobs = {job: rows for job, rows in sorted(jobs.items()) if sum(row["s"] is not None for row in rows) >= 4}
    write_ranks(jobs, "Tensor ranks on A100 (validation/README.md: alephalpha)")
    write_micro(jobs, "Micro batches on A100")


def main():
    jobs, splits = collections.OrderedDict(), collections.defaultdict(dict)
    for row in measured("nanotron"):
        jobs.setdefault((row["model"], 8 * int(row["nodes"])), []).append(row)
        at = row["flags"].find("--pipeline-model-parallel-layout")
        splits[row["model"]][int(row["pp"])] = row["flags"][at:].split() if at >= 0 else []
    jobs = collections.OrderedDict(sorted(jobs.items()))
    print("""# Which layout for 1B and 8B on 8 to 512 H100?

Made by `python3 docs/guide/study-layouts.py`. The question of a user, and a public study that measured the answer: nanotron on nodes of eight H100, 4,096 tokens, 256 sequences
(validation/README.md: nanotron). Nothing is fitted on it, nor on the other study, of 13B and 30B on A100, at the end. What a choice among the measured layouts costs in all: `stepsim validate --regret nanotron` and docs/design/validation.md, "Layouts chosen".
""")
    write_search(jobs, splits)
    write_ranks(jobs, "Is tp 16 ever right?")
    write_micro(jobs, "What a micro batch is worth")
    write_a100()


main()

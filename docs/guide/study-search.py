#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The best layouts on 8 and 16 nodes, and what became of runs that were planned and never made, from `search` and `run` alone.

    python3 docs/guide/study-search.py [PROGRAM] > docs/guide/study-search.md
"""
import csv
import json
import os
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROGRAM = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "build", "stepsim")
WORK = "--bf16 --seq 8192 --gbs 1024 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"


def result(command, words):
    """The answer of the program, also where it refuses or nothing fits."""
    run = subprocess.run([PROGRAM, command, *words.split(), "--json"], stdout=subprocess.PIPE, check=False)
    if run.returncode not in (0, 1, 3):
        sys.exit(run.returncode)
    return json.loads(run.stdout)


def layout(p):
    words = [f"TP{p['tp']} PP{p['pp']}"]
    words += [f"CP{p['cp']}"] if p["cp"] > 1 else []
    words += [f"DP{p['dp']}"]
    words += [f"{p['chunks']} chunks"] if p["chunks"] > 1 else []
    words += [f"micro batch {p['micro_batch']}"]
    block = f"block {p['recompute_layers']}" if p.get("recompute_layers") else p["recompute"]
    words += [f"recompute {block}"] if p["recompute"] != "none" else []
    words += ["FSDP"] if p["fsdp"] else []
    words += ["TP overlap"] if "--tp-comm-overlap" in p["flags"] else []
    return ", ".join(words)


def counts(found):
    total = {k: sum(g[k] for g in found["groups"]) for k in ("layouts", "refused", "too_large", "bounded", "predicted")}
    return (f"{total['layouts']} layouts, {total['refused']} refused, {total['too_large']} too large, {total['bounded']} cannot win, "
            f"{total['predicted']} predicted")


def trillion(words, p, nodes):
    """What `capacity` says of a trillion tokens with the layout that a search found."""
    return result("capacity", f"{words} {p['flags']} --nodes {nodes} --layout given --tokens 1T")["points"][0]


def best_rows(card, model, words, found):
    for g in found["groups"]:
        if g["best"] is None:
            print(f"| {card} | {model} | {g['nodes']} | none surely fits | | | | | | | | | |")
            continue
        p = found["points"][g["best"]]
        c = trillion(words, p, g["nodes"])
        yield g["nodes"], p["iteration_ms"]
        print(f"| {card} | {model} | {g['nodes']} | {layout(p)} | {p['iteration_ms'] / 1000:.2f} +-{p['error_band_pct']:.0f} % | "
              f"{g['confirmed_ms'] / 1000:.2f} | {100 * p['mfu']:.1f} | {p['peak_mib'] / 1024:.1f} | {g['like_best']} | {c['gpu_hours']:.0f} | "
              f"{c['days']:.1f} | {c['usd'] / 1000:.0f} | {c['energy_kwh'] / 1000:.0f} |")


def write_nodes():
    print(f"""## 8 or 16 nodes

All layouts of `{WORK}`, with TP overlap and without; the fastest that surely fits. The last columns are of a trillion tokens, as
`stepsim capacity` has them, with failures and checkpoints: GPU-hours, days, money at the card's example price (docs/guide/capacity.md; `--price` sets yours) and energy.

| card | model | nodes | best layout | iteration, s | by SimGrid at layer level, s | MFU, % | GiB | too close to call | GPU-hours | days | kUSD | MWh |
|---|---|---|---|---|---|---|---|---|---|---|---|---|""")
    told = []
    for card in ("h800", "h20"):
        for model in ("llama3.1-8b", "llama3.1-70b"):
            words = f"--platform {card} --model {model} {WORK}"
            found = result("search", f"{words} --vary nodes=8,16 --vary tp-comm-overlap=off,on")
            times = dict(best_rows(card, model, words, found))
            told.append(f"- {model} on {card}: {counts(found)}." +
                        (f" 16 nodes are {times[8] / times[16]:.2f} times as fast as 8." if len(times) == 2 else ""))
    print("\n" + "\n".join(told))


def words_of(row):
    """A row of validation/runs.csv as flags of a job."""
    words = [f"--platform {row['platform']} --nodes {row['nodes']} --model {row['model']} --seq {row['seq_length']} --mbs {row['micro_batch']} "
             f"--gbs {row['global_batch']} --tp {row['tp']} --pp {row['pp']} --cp {row['cp']}"]
    words.append("--fp16" if row["precision"] == "fp16" else "--bf16")
    words += ["--fp8-format hybrid"] if row["precision"] == "fp8" else []
    words += [f"--num-layers-per-virtual-pipeline-stage {row['layers_per_virtual_stage']}"] if row["layers_per_virtual_stage"] else []
    words += [f"--recompute {row['recompute']}"] if row["recompute"] != "none" else []
    words += ["--use-distributed-optimizer"] if row["optimizer"] == "distributed" else []
    words += ["--sequence-parallel"] if row["sequence_parallel"] == "true" and row["tp"] != "1" else []
    words += ["--tp-comm-overlap"] if row["tp_comm_overlap"] == "true" and row["tp"] != "1" else []
    words += ["--overlap-grad-reduce --overlap-param-gather"] if row["grad_param_overlap"] == "true" else []
    return " ".join(words)


def planned(row):
    words = [f"TP{row['tp']} PP{row['pp']}"] + ([f"CP{row['cp']}"] if row["cp"] != "1" else [])
    words += [f"{row['layers_per_virtual_stage']} layers a virtual stage"] if row["layers_per_virtual_stage"] else []
    words += [f"micro batch {row['micro_batch']}"]
    words += [f"recompute {row['recompute']}"] if row["recompute"] != "none" else []
    words += ["offload"] if row["cpu_offload"] == "true" else []
    return ", ".join(words)


def write_planned_row(row):
    got = result("run", words_of(row))
    if "error" in got:
        answer = f"| | | refused: {got['error']['message'].split(chr(10))[0]} |"
    else:
        answer = f"| {got['iteration_ms'] / 1000:.2f} | {got['memory']['peak_mib'] / 1024:.1f} | {got['verdict']} |"
    print(f"| {row['id']} | {row['model']}, {row['nodes']} {row['platform']} | {planned(row)} {answer}")


# What the search is asked beside: the job of rows of a model, without its layout.
ASKED = (("qwen2.5-14b", "--platform h800 --nodes 4 --model qwen2.5-14b --fp8-format hybrid --vary tp-comm-overlap=off,on " + WORK),
         ("llama3.1-70b", "--platform h800 --nodes 8 --model llama3.1-70b --fp8-format hybrid --vary tp-comm-overlap=off,on " + WORK),
         ("qwen2.5-72b", "--platform h800 --nodes 8 --model qwen2.5-72b --fp8-format hybrid --vary tp-comm-overlap=off,on " + WORK),
         ("gpt2-76b", "--platform v100 --nodes 32 --model gpt2-76b --fp16 --seq 1024 --gbs 4"),
         ("gpt2-76b", "--platform v100 --nodes 32 --model gpt2-76b --fp16 --seq 1024 --gbs 1024"))


def write_planned():
    print("""
## Runs that were planned and never made

Rows of validation/runs.csv whose outcome is `not-run`, each predicted as it was planned:

| run | job | layout | iteration, s | GiB | verdict |
|---|---|---|---|---|---|""")
    with open(os.path.join(TOP, "validation", "runs.csv"), encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            if row["outcome"] == "not-run":
                write_planned_row(row)
    print("""
And the best that there is for the same jobs, none of which was planned; GPT-2 76B also with a batch that fills a pipeline:

| job | best layout | iteration, s | GiB | too close to call |
|---|---|---|---|---|""")
    for model, words in ASKED:
        found = result("search", words)
        g = found["groups"][0]
        name = f"{model}, {g['nodes']} {words.split()[1]}" + (f", batch {words.split('--gbs ')[1].split()[0]}" if model == "gpt2-76b" else "")
        if g["best"] is None:
            print(f"| {name} | none of {g['layouts'] - g['refused']} fits | | | |")
            continue
        p = found["points"][g["best"]]
        print(f"| {name} | {layout(p)} | {p['iteration_ms'] / 1000:.2f} +-{p['error_band_pct']:.0f} % | {p['peak_mib'] / 1024:.1f} | {g['like_best']} |")


def main():
    print("""# Which layout, on how many nodes?

Made by `python3 docs/guide/study-search.py`; every figure is a prediction.
""")
    write_nodes()
    write_planned()


main()

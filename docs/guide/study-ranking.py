#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does `stepsim search` rank layouts as they were measured?

    python3 docs/guide/study-ranking.py [PROGRAM] > docs/guide/study-ranking.md
    python3 docs/guide/study-ranking.py --check PER_CENT    exit 1 where fewer pairs of validation/results.csv are ranked right

Pairs of measured H800 runs of quality `ok` that are of equal model, GPUs and precision and differ by more than 2 %.
"""
import collections
import csv
import itertools
import json
import os
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
APART = 0.02
LAYOUT = (("tp", "tp"), ("pp", "pp"), ("cp", "cp"), ("layers_per_virtual_stage", "layers a virtual stage"),
          ("recompute", "recompute"), ("cpu_offload", "offload"))


def table(name):
    with open(os.path.join(TOP, "validation", name + ".csv"), encoding="utf-8") as rows:
        return list(csv.DictReader(rows))


def groups():
    """{(model, GPUs, precision): [(result, row of the table)]}"""
    rows = {row["id"]: row for row in table("runs")}
    found = collections.OrderedDict()
    for r in table("results"):
        if r["table"] == "runs" and r["platform"] == "h800" and r["quality"] == "ok" and r["measured_ms"] and r["predicted_ms"]:
            found.setdefault((r["model"], r["gpus"], r["precision"]), []).append((r, rows[r["id"]]))
    return found


def seconds(run):
    return float(run[0]["measured_ms"]) / 1000, float(run[0]["predicted_ms"]) / 1000


def pairs(runs):
    """Those that differ enough: (a, b, ranked right), a measured as the faster one."""
    for a, b in itertools.combinations(sorted(runs, key=seconds), 2):
        if seconds(b)[0] > (1 + APART) * seconds(a)[0]:
            yield a, b, seconds(a)[1] < seconds(b)[1]


def tau(runs):
    """Kendall's, of all pairs."""
    signs = [1 if (seconds(a)[0] < seconds(b)[0]) == (seconds(a)[1] < seconds(b)[1]) else -1
             for a, b in itertools.combinations(runs, 2)]
    return sum(signs) / len(signs) if signs else 0


def layout(row):
    words = [f"{word} {row[key]}" for key, word in LAYOUT if row[key] not in ("", "none", "false")]
    return ", ".join(w for w in words if w not in ("cp 1", "pp 1"))


def count():
    all_pairs = [p for runs in groups().values() for p in pairs(runs)]
    return sum(right for _, _, right in all_pairs), len(all_pairs)


def write_pairs():
    right, n = count()
    print(f"""## Pairs

The runs are those on H800 in validation/runs.csv whose quality is `ok`, every two of the same model, GPUs and precision, which is also the same
batch and sequence. **{right} of {n} pairs that differ by more than {100 * APART:.0f} % are ranked as they were measured: {100 * right / n:.1f} %.**

| model, GPUs, precision | runs | pairs that differ | ranked right | Kendall's tau, all pairs |
|---|---|---|---|---|""")
    for (model, gpus, precision), runs in groups().items():
        found = list(pairs(runs))
        print(f"| {model}, {gpus}, {precision} | {len(runs)} | {len(found)} | {sum(p[2] for p in found)} | {tau(runs):.2f} |")
    wrong = [(key, a, b) for key, runs in groups().items() for a, b, ok in pairs(runs) if not ok]
    print("\nThe others:\n\n| faster | slower | measured, s | by | predicted, s | by |\n|---|---|---|---|---|---|")
    for _, a, b in wrong:
        (ma, pa), (mb, pb) = seconds(a), seconds(b)
        print(f"| {a[0]['id']}: {layout(a[1])} | {b[0]['id']}: {layout(b[1])} | {ma:.2f} < {mb:.2f} | {100 * (mb / ma - 1):.1f} % | "
              f"{pa:.2f} > {pb:.2f} | {100 * (pa / pb - 1):.1f} % |")


def result(program, command, words):
    run = subprocess.run([program, command, *words.split(), "--json"], stdout=subprocess.PIPE, check=False)
    if run.returncode > 1:
        sys.exit(run.returncode)
    return json.loads(run.stdout)


def name(p):
    words = [f"TP{p['tp']}", f"PP{p['pp']}"]
    words += [f"CP{p['cp']}"] if p["cp"] > 1 else []
    words += [f"{p['chunks']} chunks"] if p["chunks"] > 1 else []
    words += [f"micro batch {p['micro_batch']}"]
    block = f"block {p['recompute_layers']}" if p.get("recompute_layers") else p["recompute"]
    words += [f"recompute {block}"] if p["recompute"] != "none" else []
    return " ".join(words) + (" FSDP" if p["fsdp"] else "")


def write_best(program, title, words, measured):
    """The best layout, and the one that was measured as the fastest: a test of its point and its row of validation/runs.csv."""
    found = result(program, "search", words)
    points = found["points"]
    best = points[found["groups"][0]["best"]]
    like = [p for p in points if p["like_best"]]
    there = [p for p in points if all(p[k] == v for k, v in measured[0].items())]
    run = next(r for r in table("results") if r["id"] == measured[1])
    g = found["groups"][0]
    print(f"""
### {title}

`stepsim search {words}`: {g['layouts']} layouts, {g['refused']} refused, {g['too_large']} too large, {g['bounded']} cannot win, {g['predicted']} predicted.

| | layout | predicted, s | measured, s | GiB |
|---|---|---|---|---|
| found best | {name(best)} | {best['iteration_ms'] / 1000:.2f} | | {best['peak_mib'] / 1024:.1f} |""")
    for p in there:
        slower = 100 * (p["iteration_ms"] / best["iteration_ms"] - 1)
        print(f"| measured best, {measured[1]} | {name(p)} | {p['iteration_ms'] / 1000:.2f} | {float(run['measured_ms']) / 1000:.2f} | "
              f"{p['peak_mib'] / 1024:.1f} |")
        word = "the best itself" if p is best else "too close to call" if p["like_best"] else "a clear difference"
        print(f"\nThe layout that was measured as the fastest is predicted {slower:.2f} % slower than the best found, whose band is "
              f"+-{best['error_band_pct']:.2f} %: {word}. {len(like)} of those predicted are too close to it to call.")
        low, high = (best["iteration_ms"] * (1 + sign * best["error_band_pct"] / 100) / 1000 for sign in (-1, 1))
        took = float(run["measured_ms"]) / 1000
        print(f"The time that was measured, {took:.2f} s, is {'within' if low <= took <= high else 'outside'} the band of the best found, "
              f"{low:.2f} to {high:.2f} s.")
    if not there:
        print("\nThe layout that was measured as the fastest is left out by its bound: it cannot be the best.")
    return points


RULES = """
## The rules of those who ran them

| rule | what the search finds |
|---|---|
| 8B wants TP x PP x CP near 4 and small TP | TP 1 or 2 and a product of 2 with bf16 and with fp8, as the two fastest that were measured |
| 70B wants TP x PP x CP of 64 with PP 8 and small TP | TP 4 as they say, but PP 4 with two replicas: see below |
| recompute only when memory forces it | of all pairs of layouts of 8B on 4 nodes that differ in nothing else, none is faster with it |
| micro batch last | between the best layouts with micro batch 1, 2, 4 and 8 is less than between those with TP or PP 1, 2, 4 and 8; with CP it is less again |

`unit.search_rules` holds them.
"""


def write_why(program, words, points):
    """Why PP 4, in figures of a run of the measured layout of 10 layers a stage, and of the search."""
    run = result(program, "run", words + " --sequence-parallel --tp 4 --pp 8 --cp 2 --vp 5 --mbs 1")
    parts = {row["part"]: row["ms"] for row in run["compute"]["rows"] if row["label"] == "compute"}
    layer = (sum(parts.values()) - parts["loss"]) / 10
    gib = {p["pp"]: p["peak_mib"] / 1024 for p in reversed(points) if p["tp"] == 4 and p["cp"] == 2 and p["verdict"] == "fits"}
    print(f"""
Why PP 4: the last stage has the logits and the loss besides its share of the layers, which take as long as {parts['loss'] / layer:.1f} of the 80
layers. Of 8 stages of 10 layers one has {10 * parts['loss'] / layer:.0f} % more to do, for which the seven others wait in every microbatch; of 4 stages of 20 layers
half of that. PP 4 keeps twice the layers a GPU: {gib[4]:.1f} GiB of 79.6 in place of {gib[8]:.1f}. The table has no run of it, so that nothing shows which is right;
their layouts were drawn with PP 8 from the start. Which of the two to try first is a matter of how much memory a user wants to leave free.""")


def main():
    if sys.argv[1:2] == ["--check"]:
        right, n = count()
        print(f"{right} of {n} pairs are ranked right")
        return 0 if n and 100 * right >= float(sys.argv[2]) * n else 1
    program = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "build", "stepsim")
    print("""# Does the search rank layouts as they were measured?

Made by `python3 docs/guide/study-ranking.py`. A search is of use if its order is right, even where its times are not: a common error
of all layouts changes no decision.
""")
    write_pairs()
    print("\n## The best that was measured, among all layouts")
    common = "--seq 8192 --gbs 1024 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"
    large = f"--platform h800 --nodes 8 --model llama3.1-70b --bf16 --fp8-format hybrid {common} --tp-comm-overlap"
    points = write_best(program, "Llama-3.1-70B, fp8, 64 H800", large, ({"tp": 4, "pp": 8, "cp": 2, "chunks": 5, "micro_batch": 1, "recompute": "none"}, "70b-14"))
    write_best(program, "Llama-3.1-8B, fp8, 32 H800",
               f"--platform h800 --nodes 4 --model llama3.1-8b --bf16 --fp8-format hybrid {common}",
               ({"tp": 1, "pp": 2, "cp": 1, "chunks": 4, "micro_batch": 1, "recompute": "none"}, "8b-16"))
    write_best(program, "Llama-3.1-8B, bf16, 32 H800",
               f"--platform h800 --nodes 4 --model llama3.1-8b --bf16 {common}",
               ({"tp": 1, "pp": 2, "cp": 1, "chunks": 4, "micro_batch": 1, "recompute": "none"}, "8b-18"))
    print(RULES, end="")
    write_why(program, large, points)
    return 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: verdict.py STEPSIM SOURCES [--steps N]

One job, one verdict, and one bubble: jobs around the card's limit are put to every command that says whether a job fits, in text, JSON and
HTML, and the words are compared. The limit is approached with stacks that differ in ss.memory.context alone, because every
command takes a stack.
"""
import base64
import csv
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

WORDS = ("fits", "near limit", "too large", "refused")
STEPS = 7  # --steps: of a grid as fine
# id of a row of validation/runs.csv and of its job file; its schedule; GB of NCCL's buffers, then of context from below the
# limit to above it. Runs like the first took hardly more memory than predicted: what is near the limit is so by the
# allocator's margin; those like the second took more.
JOBS = (("8b-10", "1f1b", 0.75, 10, 20), ("70b-14", "interleaved", 1.5, 6, 20))

stepsim, sources = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
if sys.argv[3:4] == ["--steps"]:
    STEPS = int(sys.argv[4])


def run(*words, status=(0,)):
    done = subprocess.run((stepsim,) + words, capture_output=True, text=True)
    if done.returncode not in status:
        sys.exit("stepsim %s: exit status %d: %s" % (" ".join(words), done.returncode, done.stderr[:500]))
    return done.stdout


def word_in(text, pattern):
    """The one verdict in the lines that the pattern finds."""
    found = re.findall(pattern, text, re.M)
    return found[0] if len(found) == 1 else "%d verdicts" % len(found)


os.environ["STEPSIM_COLUMNS"] = "1000"  # whole lines
ANY = "(" + "|".join(WORDS) + ")"


def html_words(path):
    page = open(path, encoding="utf-8").read()
    data = re.search(r'id="data">([^<]*)<', page).group(1)
    yield "HTML, heading", word_in(page, "<h1>[^<]* an iteration, %s</h1>" % ANY)
    yield "HTML, tile", word_in(page, "<dt>Memory: %s</dt>" % ANY)
    yield "HTML, data", json.loads(gzip.decompress(base64.b64decode(data)))["verdict"]


def write_stack(name, nccl, context):
    with open(name, "w", encoding="utf-8") as out:
        out.write('<?xml version="1.0"?>\n<stack name="%s" base="megatron-2407">'
                  '<prop id="ss.memory.nccl_per_group" value="%gGB"/>'
                  '<prop id="ss.memory.context" value="%gGB"/></stack>\n' % (name, nccl, context))


def table_row(job, stacks):
    """The job's row of the measured runs, once a stack."""
    with open(sources + "/validation/runs.csv", encoding="utf-8") as table:
        reader = csv.DictReader(table)
        row = next(r for r in reader if r["id"] == job)
    with open("table.csv", "w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, reader.fieldnames)
        writer.writeheader()
        for i, stack in enumerate(stacks):
            writer.writerow(dict(row, id="row%d" % i, stack=stack))


def words_of(job, schedule, stack, simgrid):
    """(where, word) of the commands that take one job."""
    words = ("--job", sources + "/workloads/jobs/" + job + ".args", "--stack", stack)
    text = run("run", *words, "--engine", "native", "--report", "page.html", status=(0, 1))
    yield "run", word_in(text, r"^%s: [\d.]+ of" % ANY)
    yield from html_words("page.html")
    yield "run --json", json.loads(run("run", *words, "--engine", "native", "--json", status=(0, 1)))["verdict"]
    if simgrid:
        yield "run --json, SimGrid", json.loads(run("run", *words, "--engine", "simgrid", "--json", status=(0, 1)))["verdict"]
    yield "plan --json", json.loads(run("plan", *words, "--json"))["verdict"]
    compare = ("schedule", "compare", "--schedules", schedule) + words
    yield "schedule compare", word_in(run(*compare), r"^%s .*  %s$" % (schedule, ANY))
    yield "schedule compare --json", json.loads(run(*compare, "--json"))["schedules"][0]["verdict"]


def words_of_all(job, stacks):
    """(where, [word by stack]) of the commands that take many jobs."""
    sweep = ("sweep", "--job", job, "--vary", "stack=" + ",".join(stacks))
    yield "sweep", re.findall(r"^\S+\.xml .*  %s$" % ANY, run(*sweep), re.M)
    yield "sweep --json", [r["verdict"] for r in json.loads(run(*sweep, "--json"))["rows"]]
    table_row(job, stacks)
    yield "validate", re.findall(r"^row\d+ .*, %s(?: \(wrong\))?$" % ANY, run("validate", "table.csv"), re.M)
    yield "validate --json", [r["verdict"] for r in json.loads(run("validate", "table.csv", "--json"))["rows"]]


def check(job, schedule, nccl, low, high):
    contexts = [low + (high - low) * i / (STEPS - 1) for i in range(STEPS)]
    stacks = ["c%g.xml" % c for c in contexts]
    for stack, context in zip(stacks, contexts):
        write_stack(stack, nccl, context)
    told = [list(words_of(job, schedule, s, i % 5 == 0)) for i, s in enumerate(stacks)]
    for where, words in words_of_all(job, stacks):
        if len(words) != STEPS:
            sys.exit("%s: %s: %d verdicts, not %d" % (job, where, len(words), STEPS))
        for i, word in enumerate(words):
            told[i].append((where, word))
    wrong = 0
    for context, row in zip(contexts, told):
        if {w for _, w in row} != {row[0][1]} or row[0][1] not in WORDS:
            wrong += 1
            print("%s with %g GB of context: %s" % (job, context, ", ".join("%s %r" % r for r in row)))
    seen = [row[0][1] for row in told]
    order = sorted(seen, key=WORDS.index)
    if seen != order or set(seen) != set(WORDS[:3]):
        sys.exit("%s: the grid should go from fits over near limit to too large: %s" % (job, seen))
    return wrong


def check_refused():
    """More GPUs than there are: the same word wherever a refusal is an answer."""
    words = ("--job", sources + "/workloads/jobs/8b-10.args")
    big = "4096"
    found = {
        "run --json": json.loads(run("run", *words, "--tp", big, "--json", status=(3,)))["verdict"],
        "sweep": word_in(run("sweep", *words, "--vary", "tp=" + big, status=(3,)), r"^%s +%s: " % (big, ANY)),
        "sweep --json": json.loads(run("sweep", *words, "--vary", "tp=" + big, "--json", status=(3,)))["rows"][0]["verdict"],
    }
    if set(found.values()) != {"refused"}:
        print(found)
        return 1
    return 0


def check_bubble():
    """The share of the iteration that the schedule leaves the busiest stage idle is one number everywhere."""
    words = ("--job", sources + "/workloads/jobs/8b-10.args", "--gbs", "128")
    data = json.loads(run("run", *words, "--engine", "native", "--json"))
    share = data["bubble_fraction"]
    if not 0.01 < share < 0.5 or abs(share - data["breakdown_ms"]["bubble"] / data["iteration_ms"]) > 1e-9:
        sys.exit("bubble_fraction %g is not the bubble of breakdown_ms" % share)
    text = run("run", *words, "--engine", "native", "--report", "page.html")
    compare = ("schedule", "compare", "--schedules", "1f1b") + words
    sweep = ("sweep",) + words + ("--vary", "nodes=4")
    page = open("page.html", encoding="utf-8").read()
    found = {
        "run": re.search(r"^  pipeline bubble .*ms +([\d.]+) %", text, re.M).group(1),
        "HTML": re.search(r"\(busiest\)</span>.*?pipeline bubble: [^,]*, ([\d.]+) %", page, re.S).group(1),
        "schedule compare": re.search(r"^1f1b .* % +([\d.]+) % +[\d.]+ % .* ms", run(*compare), re.M).group(1),
        "schedule compare --json": 100 * json.loads(run(*compare, "--json"))["schedules"][0]["bubble_fraction"],
        "sweep": re.search(r"^4 .*", run(*sweep), re.M).group().split()[6],
        "sweep --json": 100 * json.loads(run(*sweep, "--json"))["rows"][0]["bubble_fraction"],
    }
    wrong = {where: value for where, value in found.items() if abs(float(value) - 100 * share) > 0.0501}
    if wrong:
        print("bubble %.4f %%, but %s" % (100 * share, wrong))
    return len(wrong)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        wrong = sum(check(*job) for job in JOBS) + check_refused() + check_bubble()
        os.chdir(sources)
    if wrong:
        sys.exit("%d jobs have more than one verdict or bubble" % wrong)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: workers.py PROGRAM [--quick] [--way] [--thousand] [WORDS...]

Instructions of searches by 1, 2, 4 and 8 workers, counted by callgrind, and how many of the workers are at work: what one worker takes over
N times the way of the slowest, which is the first process, and behind it the largest worker of each crew (the walk over layouts, the
predictions, the changes that are tried). Counts do not depend on the machine but for which worker gets which item. Minutes; --quick
takes the smallest search, WORDS those of a search instead of the ones below.
--way runs the workers one after the other by a clock of instructions (cores.c), so that the machine decides nothing: how many instructions
there are from the first to the last on cores of their own, waits for others included, and how many of the workers are at work then.
--thousand tells how many of a thousand workers are at work on a million legal layouts, all of which are predicted, by what one layout more
takes in the first process and in the workers. Searches with bounds predict a few hundred of a million layouts, which follow from each other:
that is seconds of one core, and keeps some tens of them busy, not a thousand.
"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

SEARCHES = (
    ("8B on 2 nodes", "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --seq 8192 --gbs 128"),
    ("70B on 16 nodes, without cp", "--platform h100 --nodes 16 --model llama3.1-70b --bf16 --seq 8192 --gbs 1024 --cp 1"),
    ("Qwen3-30B-A3B on 2 nodes", "--platform h800 --nodes 2 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 128"),
)
# callgrind counts `rep movsb`, one instruction, as one a byte: of a copy of 10,000 bytes, which takes some 400 cycles, 10,000. So the C library
# copies by vectors, as it does below 2 kB: 600 instructions.
BY_VECTORS = {"GLIBC_TUNABLES": "glibc.cpu.x86_rep_movsb_threshold=1000000000:glibc.cpu.x86_rep_stosb_threshold=1000000000"}
# All layouts of this search are predicted. They are the cheap ones of a space: with context parallelism free a layout of 70B on 16 nodes
# takes half as much again in the mean. Flags that change little make more of them.
MILLION = ("--platform h100 --nodes 64 --model llama3.1-70b --bf16 --seq 8192 --gbs 1024 --tp 8 --cp 1 --pp 8 --exhaustive "
           "--vary overlap-grad-reduce=off,on --vary tp-comm-overlap=off")
CREWS = (("walk", "walk_slice"), ("changes", "run_item"), ("predictions", "work_until_end"))


def taken(text, function):
    """Instructions of a function in a profile, with all that it calls."""
    of, called, sum_of = "", False, 0
    names = {}
    for line in text.splitlines():
        named = re.match(r"c?fn=\((\d+)\)(?: (.*))?", line)
        if named:
            of = names.setdefault(named.group(1), named.group(2))
        elif called:
            sum_of += int(line.split()[1]) if of == function else 0
        called = line.startswith("calls=")
    return sum_of


def count(program, words, workers, look=None):
    """Instructions of the first process, and of the processes of each crew. `look` gets the profile of the first."""
    with tempfile.TemporaryDirectory() as folder:
        # a worker's counters begin at 0 behind its fork, where it calls prctl
        with subprocess.Popen(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + os.path.join(folder, "%p"), "--zero-before=prctl",
                               program, "search", *words.split(), "--unconfirmed", "--workers", str(workers)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env={**os.environ, **BY_VECTORS, "STEPSIM_DATA": "", "STEPSIM_PROGRESS": "off"}) as run:
            if run.wait() not in (0, 1):
                sys.exit("workers.py: %s: exit status %d" % (words, run.returncode))
        first, crews = 0, {name: [] for name, _ in CREWS}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                text = f.read()
            took = int((re.findall(r"^(?:totals|summary): (\d+)", text, re.M) or [0])[-1])
            if name == str(run.pid):
                first = took
                if look:
                    look(text)
                continue
            of = [crew for crew, function in CREWS if re.search(r"\) %s$" % function, text, re.M)]
            crews[(of or ["predictions"])[0]].append(took)
    return first, crews


def way(program, words, workers):
    """Million instructions from the first to the last by the clock of cores.c, those of the first process, and those of all workers."""
    with tempfile.TemporaryDirectory() as folder:
        cores = os.path.join(folder, "cores.so")
        subprocess.run(["cc", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", cores, os.path.join(os.path.dirname(os.path.abspath(__file__)), "cores.c"), "-ldl"],
                       check=True)
        subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + os.path.join(folder, "%p"), "--zero-before=prctl",
                        program, "search", *words.split(), "--unconfirmed", "--workers", str(workers)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       check=True, env={**os.environ, **BY_VECTORS, "STEPSIM_DATA": "", "LD_PRELOAD": cores, "CORES_FOLDER": folder})
        with open(os.path.join(folder, "way"), encoding="utf-8") as f:
            return [float(word) for word in f.read().split()]


def thousand(program):
    """Returns how many of a thousand workers are at work on a million layouts, %, and what these take, in instructions."""
    few, many = [], []
    for words, found in ((MILLION, few), (MILLION + ",on", many)):
        out = subprocess.run([program, "search", *words.split(), "--unconfirmed", "--json"], capture_output=True, check=True,
                             env={**os.environ, "STEPSIM_DATA": "", "STEPSIM_PROGRESS": "off"}).stdout
        legal = sum(g["layouts"] - g["refused"] for g in json.loads(out)["groups"])
        apart = []  # advice for the best is given once, and tries what helps this best
        first, crews = count(program, words, 2, lambda text, apart=apart: apart.extend((taken(text, "qsort_r"), taken(text, "ss_find_tell_best"))))
        found += [legal, apart[0], first - sum(apart), sum(crews["walk"]), sum(crews["predictions"]), apart[1]]
    layouts = many[0] - few[0]
    sort, first, walk, predictions = ((b - a) / layouts for a, b in zip(few[1:5], many[1:5]))
    fixed = few[2] - first * few[0] + max(few[5], many[5])
    sort *= math.log2(1e6) / math.log2(many[0])  # of each layout, and more where there are more of them
    last = fixed + 1e6 * (sort + first) + 1e3 * (walk + predictions)
    at_work = 100 * (fixed + 1e6 * (sort + first + walk + predictions)) / 1000 / last
    return at_work, (("first process, whatever the layouts", fixed), ("and for each layout: sorts", sort), ("all else", first),
                     ("workers, for each layout: walk and bound", walk), ("prediction", predictions), ("from first to last", last))


def print_thousand(program):
    at_work, rows = thousand(program)
    print("a million legal layouts, all predicted, by a thousand workers\n\n| | thousand instructions |\n|---|---|")
    for what, n in rows:
        print("| %s | %.1f |" % (what, n / 1e3))
    print("\n%.0f %% of the workers at work\n" % at_work)


def print_ways(program, searches):
    for title, words in searches:
        print("%s, million instructions\n\n| workers | from first to last | first process | workers together | at work |\n|---|---|---|---|---|" % title)
        for n in (1, 2, 4, 8):
            last, first, together = way(program, words, n)
            alone = last if n == 1 else alone
            print("| %d | %.0f | %.0f | %.0f | %.0f %% |" % (n, last, first, together, 100 * alone / n / last), flush=True)
        print()


def main():
    program, rest = sys.argv[1], [w for w in sys.argv[2:] if w not in ("--quick", "--way", "--thousand")]
    searches = [("the search", " ".join(rest))] if rest else SEARCHES[:1] if "--quick" in sys.argv[2:] else SEARCHES
    if "--thousand" in sys.argv[2:]:
        print_thousand(program)
        return
    if "--way" in sys.argv[2:]:
        print_ways(program, searches)
        return
    for title, words in searches:
        print("%s, million instructions\n\n| workers | sum | first process | largest of the walk | of the predictions | of the changes | at work |\n"
              "|---|---|---|---|---|---|---|" % title)
        for n in (1, 2, 4, 8):
            first, crews = count(program, words, n)
            largest = {name: max(took, default=0) for name, took in crews.items()}
            total = first + sum(map(sum, crews.values()))
            alone = total if n == 1 else alone
            print("| %d | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f %% |" % (
                n, total / 1e6, first / 1e6, largest["walk"] / 1e6, largest["predictions"] / 1e6, largest["changes"] / 1e6,
                100 * alone / n / (first + sum(largest.values()))), flush=True)
        print()


if __name__ == "__main__":
    main()

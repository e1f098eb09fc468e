#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: run.py BUILD WORK [--minutes M] [--slice S] [--merge | --seeds] [TARGET...]
       run.py --table WORK
       run.py --self SOURCE

Fuzzes each target of a build of the preset fuzz for M minutes of processor time (10; `chain`: 60), one process at a time at nice 19, and
goes on from the corpus and the time that WORK has of it. Temporary files go to TMPDIR, best a folder in memory. Dictionaries are made
anew: of the words in the sources of each parser and of the program's own lists, so that they are as old as these. Results are a line
for each quarter of an hour in WORK/results.tsv; the table of all runs is printed. --slice S stops each target after S seconds of wall
time, so that the next one gets its turn.
--merge instead replaces tests/fuzz/corpus/TARGET by the fewest inputs of WORK that reach each edge that all of them reach; named
files stay. --seeds runs nothing but tests/fuzz/corpus, so that the table has what it reaches now. Exit status 1: a target found
something (WORK/found/TARGET).
--self looks that each target has a corpus and words.
"""
import argparse
import glob
import hashlib
import os
import re
import resource
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
CORPUS = os.path.join(HERE, "corpus")
with open(os.path.join(HERE, "seeds"), encoding="ascii") as rows:
    SEEDS = [row.split() for row in rows]  # a target, and a folder of files that are inputs, too
PART = 900  # seconds of a target at most, after which what it did is written down

XML = ["sim/platform/schema.c", "sim/platform/t*.c", "sim/platform/f*.c", "sim/base/xml.c"]
LISTS = {"options": ["help", "--options"], "flags": ["help", "--complete", "--", "run", "--"], "props": ["list", "props"],
         "models": ["list", "models"], "platforms": ["list", "platforms"], "stacks": ["list", "stacks"], "schedules": ["list", "schedules"]}
# Where the words of each target stand: sources, and lists of the program.
WORDS = {
    "bands": (["sim/result/bands*.c", "sim/study/validate_csv.c"], []),
    "card": (["sim/platform/card.c"], ["props"]),
    "chain": (["sim/import/args.c", "sim/schedule/read.c", "sim/plan/placement.c", "sim/platform/schema.c"], list(LISTS)),
    "csv": (["sim/import/table_columns.c"], []),
    "foreign": (["workloads/importers/[bcdmnops]*.map", "sim/import/nemo*.c", "sim/import/hydra*.c"], []),
    "gzip": (["sim/base/gzip.c"], []),
    "huggingface": (["workloads/importers/[adhlnst]*.map", "sim/import/hf*.c"], []),
    "hwloc": (["sim/platform/hwloc_import.c"], []),
    "import": (["sim/platform/*import*.c"], []),
    "job": (["sim/job/flags*.c"], ["flags", "models", "platforms", "schedules"]),
    "keymap": (["workloads/importers/*.map", "sim/import/include/import/keymap.h"], []),
    "journal": (["sim/workers/journal.c"], []),
    "kineto": (["sim/study/*trace*.c", "sim/study/kineto*.c"], []),
    "launch": (["sim/import/launch*.c", "sim/import/sandbox*.c", "sim/import/launcher.c"], ["flags"]),
    "lengths": (["sim/job/packing*.c"], []),
    "library": (["sim/platform/library.c"], []),
    "microbench": (["sim/study/microbench*.c"], []),
    "model": (["sim/model/config*.c", "sim/model/model_json.c"], []),
    "moe_loads": (["sim/job/moe_loads.c"], []),
    "nccl": (["sim/study/nccl*.c"], []),
    "nsys": (["sim/study/nsys*.c", "sim/study/trace*.c"], []),
    "paste": (["sim/import/paste.c", "sim/import/shell*.c"], ["flags"]),
    "pictures": (["sim/program/program_*.c"], []),
    "placement": (["sim/plan/placement.c"], []),
    "platform": (XML, ["props"]),
    "program": (["sim/program/program_*.c"], []),
    "request": (["sim/import/*.c"], ["flags"]),
    "schedule": (["sim/schedule/read.c", "sim/schedule/*.c"], []),
    "serve": (["sim/serve/*.c"], ["flags"]),
    "stack": (["sim/model/stack.c", "sim/params/include/stepsim/stack_props.h"], ["props"]),
    "table": (["sim/import/table*.c"], []),
    "timer_rows": (["sim/study/timer_rows.c"], []),
    "toml": (["sim/import/toml*.c"], []),
    "torchtitan": (["workloads/importers/torchtitan.map", "sim/import/torchtitan*.c"], []),
    "train_log": (["sim/study/*log*.c"], []),
    "tree": (["sim/import/tree*.c"], []),
    "xml": (["sim/base/xml.c"], []),
}


def targets():
    return sorted(os.path.basename(f)[5:-2] for f in glob.glob(os.path.join(HERE, "fuzz_*.c")))


# ---- dictionaries ----

def literals(path):
    """Texts without blanks and formats in the code of a file, comments and includes left out; words of a keymap, its paths name by name."""
    if path.endswith(".map"):
        with open(path, encoding="utf-8") as f:
            return {w for w in re.findall(r"[\w@=-]+", re.sub(r"#.*", "", f.read())) if 1 < len(w) <= 48}
    with open(path, encoding="utf-8") as f:
        code = re.sub(r"/\*.*?\*/|^#\s*include.*?$", "", f.read(), flags=re.S | re.M)
    return {w for w in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code) if 1 < len(w) <= 48 and not re.search(r"[\\%\s]", w)}


def words_of(target, program):
    sources, lists = WORDS[target]
    words = set()
    for pattern in sources:
        for path in glob.glob(os.path.join(SOURCE, pattern)):
            words |= literals(path)
    for name in lists if program else []:
        out = subprocess.run([program] + LISTS[name], capture_output=True, text=True, check=True).stdout
        for line in out.splitlines():
            fields = line.split("\t") if "\t" in line else line.split()
            words |= {w for w in (fields[3:6] if name == "options" else fields[:1]) if 1 < len(w) <= 64 and w.isascii()}
    return sorted(w for w in words if not re.search(r'["\\\s]', w))


def write_dictionary(target, program, path):
    with open(path, "w", encoding="ascii", errors="ignore") as f:
        for w in words_of(target, program):
            f.write(f'"{w}"\n')


def check_self():
    bad = 0
    for t in targets():
        if t not in WORDS or not words_of(t, None):
            print(f"tests/fuzz/run.py: no words for fuzz_{t}: name the sources of its parser in WORDS")
            bad = 1
        if not glob.glob(os.path.join(CORPUS, t, "*")):
            print(f"tests/fuzz/corpus/{t}: fuzz_{t} has no inputs")
            bad = 1
    for t in set(WORDS) - set(targets()):
        print(f"tests/fuzz/run.py: WORDS has {t}, which is no target")
        bad = 1
    size = sum(os.path.getsize(f) for f in glob.glob(os.path.join(CORPUS, "*", "*")))
    if size > 2500000:
        print(f"tests/fuzz/corpus: {size} bytes: run.py --merge keeps the fewest")
        bad = 1
    return bad


# ---- runs ----

def seeds_of(target):
    """Folders of a target's inputs: its corpus, and those of the file seeds."""
    return [os.path.join(CORPUS, target)] + [os.path.join(SOURCE, folder) for t, folder in SEEDS if t == target]


def files_of(folder):
    return [f for f in glob.glob(os.path.join(folder, "*")) if os.path.isfile(f)]


def environment():
    return dict(os.environ, ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=0", UBSAN_OPTIONS="print_stacktrace=1",
                LSAN_OPTIONS=f"suppressions={os.path.join(SOURCE, 'tests', 'lsan.supp')}:print_suppressions=0")


def fuzz(build, target, arguments, log):
    """Runs a target at nice 19. Returns (status, text, seconds of processor time)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(log, "w", encoding="utf-8") as out:
        status = subprocess.run(["nice", "-n", "19", os.path.join(build, "tests", "fuzz_" + target)] + arguments, stdout=out,
                                stderr=subprocess.STDOUT, env=environment(), check=False).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(log, encoding="utf-8", errors="replace") as f:
        text = f.read()
    return status, text, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def coverage(build, target, log):
    """Edges that the inputs reach."""
    status, text, _ = fuzz(build, target, ["-runs=0", *seeds_of(target)], log)
    return edges(text) if status == 0 else 0


def edges(text):
    """Those that a run reached, from what it told at its end."""
    found = re.findall(r"DONE +cov: (\d+)", text)
    return int(found[-1]) if found else 0


def run_target(build, work, target, minutes, wall):
    paths = {k: os.path.join(work, k, target) for k in ("corpus", "found")}
    for p in paths.values():
        os.makedirs(p, exist_ok=True)
    for f in [f for folder in seeds_of(target) for f in files_of(folder)]:
        shutil.copy(f, paths["corpus"])
    log, words = os.path.join(work, target + ".log"), os.path.join(work, target + ".dict")
    write_dictionary(target, os.path.join(build, "stepsim"), words)
    seeds = coverage(build, target, log)
    cpu, status, spent = sum(int(row[2]) for row in results(work) if row[0] == target), 0, 0
    while cpu < 60 * minutes and status == 0 and spent < wall:
        part = int(min(wall - spent, max(30, min(PART, 60 * minutes - cpu))))
        status, text, used = fuzz(build, target, [paths["corpus"], f"-dict={words}", f"-max_total_time={part}", "-timeout=1200",
                                                 "-rss_limit_mb=4096", "-print_final_stats=1", "-max_len=20000",
                                                 f"-artifact_prefix={paths['found']}/"], log)
        cpu, spent = cpu + used, spent + part
        runs = (re.findall(r"number_of_executed_units: (\d+)", text) or ["0"])[-1]
        add_result(work, [target, runs, round(used), seeds, edges(text), len(os.listdir(paths["corpus"])), "found" if status else "-"])
    return status


def measure_seeds(build, work, target):
    """A row of no run: edges of the corpus as it is, beside those of the last run."""
    last = [row for row in results(work) if row[0] == target][-1]
    seeds = coverage(build, target, os.path.join(work, target + ".seeds.log"))
    add_result(work, [target, 0, 0, seeds, max(seeds, int(last[4]))] + last[5:])


def add_result(work, line):
    with open(os.path.join(work, "results.tsv"), "a", encoding="utf-8") as f:
        f.write("\t".join(map(str, line)) + "\n")


def results(work):
    """The rows of results.tsv, a part of a target's time each, as words."""
    path = os.path.join(work, "results.tsv")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        return [line.rstrip("\n").split("\t") for line in f]


def print_table(work):
    """Sums of all runs of a target; coverage is of its last one."""
    rows = {}
    for name, runs, cpu, seeds, last, inputs, found in results(work):
        old = rows.get(name, (0, 0))
        rows[name] = (old[0] + int(runs), old[1] + int(cpu), int(seeds), int(last), int(inputs), found)
    print("| target | runs | CPU s | edges of the seeds | edges of all | seeds' share | inputs | findings |\n|---|---|---|---|---|---|---|---|")
    for name, (runs, cpu, seeds, last, inputs, found) in sorted(rows.items()):
        print(f"| {name} | {runs:,} | {cpu:,} | {seeds} | {last} | {100 * seeds / max(1, last):.1f} % | {inputs} | {found} |")


def merge(build, work, target):
    """The fewest inputs, by edges alone; those with a name that is no hash are kept."""
    to, made = os.path.join(CORPUS, target), os.path.join(work, "merged", target)
    shutil.rmtree(made, ignore_errors=True)
    os.makedirs(made)
    named = [f for f in glob.glob(os.path.join(to, "*")) if not re.fullmatch(r"[0-9a-f]{10}", os.path.basename(f))]
    told = [f for folder in seeds_of(target)[1:] for f in files_of(folder)]
    for f in named + told:
        shutil.copy(f, made)
    status, _, _ = fuzz(build, target, ["-set_cover_merge=1", "-use_counters=0", "-use_cmp=0", made, os.path.join(work, "corpus", target)],
                        os.path.join(work, target + ".merge.log"))
    if status:
        sys.exit(f"run.py: cannot merge {target}: see {work}/{target}.merge.log")
    for f in set(glob.glob(os.path.join(to, "*"))) - set(named):
        os.remove(f)
    for f in glob.glob(os.path.join(made, "*")):
        if os.path.basename(f) not in {os.path.basename(x) for x in named + told}:
            with open(f, "rb") as text:
                shutil.copy(f, os.path.join(to, hashlib.sha1(text.read()).hexdigest()[:10]))


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--self":
        return check_self()
    if len(sys.argv) == 3 and sys.argv[1] == "--table":
        return print_table(sys.argv[2])
    a = argparse.ArgumentParser(usage=__doc__.split("\n\n")[0][7:])
    a.add_argument("build")
    a.add_argument("work")
    a.add_argument("targets", nargs="*")
    a.add_argument("--minutes", type=float)
    a.add_argument("--slice", type=int, default=1 << 30)
    a.add_argument("--merge", action="store_true")
    a.add_argument("--seeds", action="store_true")
    o = a.parse_intermixed_args()
    unknown = sorted(set(o.targets) - set(targets()))
    if unknown:
        a.error(f"no target {unknown[0]}: one of {', '.join(targets())}")
    os.makedirs(o.work, exist_ok=True)
    bad = 0
    for t in o.targets or targets():
        if o.merge:
            merge(o.build, o.work, t)
        elif o.seeds:
            measure_seeds(o.build, o.work, t)
        else:
            bad |= run_target(o.build, o.work, t, o.minutes or (60 if t == "chain" else 10), o.slice)
    if not o.merge:
        print_table(o.work)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

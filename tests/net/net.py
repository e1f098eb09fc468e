# SPDX-License-Identifier: Apache-2.0
"""Runs the net's jobs through two binaries and compares what they print. See README.md; run.sh is the way in."""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zlib

import changes
import compare
import jobs
import words

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
PROGRESS = re.compile(r"^[a-z]*: [0-9.e+-]* % after [0-9]* s\n", re.M) # on a busy machine a run takes long enough to tell
TIMEOUT_S = 3600
SHOWN_JOBS, SHOWN_ROWS = 10, 12
RUN = ("fits", "near limit", "too large")  # outcomes of a job that was simulated
PIPE, PICTURES = "|", "PICTURES"  # words of a task: feeds what is left of it to what is right; files, not stdout
# Flags that no job can run with: what they ask for is refused in every form.
NEVER_RUNS = set()


class Binary:
    """One program with the data of its own tree, and a cache of what it printed."""

    def __init__(self, path, folder, cache=None):
        self.path = os.path.abspath(path)
        if not os.access(self.path, os.X_OK):
            sys.exit("net: %s is no program" % path)
        self.root = os.path.realpath(os.path.join(os.path.dirname(self.path), ".."))
        self.folder, self.times = folder, []
        self.cache = os.path.join(cache, self.fingerprint()) if cache else None
        if self.cache:
            os.makedirs(self.cache, exist_ok=True)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("STEPSIM_")}
        self.env["LC_ALL"] = "C"

    def fingerprint(self):
        """Of the program, its modules and the data that it reads."""
        h = hashlib.sha256()
        files = [self.path] + sorted(os.path.join(os.path.dirname(self.path), f)
                                     for f in os.listdir(os.path.dirname(self.path)) if ".so" in f)
        for folder in ("platforms", "workloads", "validation"):
            for at, folders, names in os.walk(os.path.join(self.root, folder)):
                folders.sort()
                files += [os.path.join(at, n) for n in sorted(names)]
        for name in files:
            with open(name, "rb") as f:
                h.update(os.path.relpath(name, self.root).encode() + b"\0" + hashlib.sha256(f.read()).digest())
        return h.hexdigest()[:20]

    def clean(self, raw):
        """Text with the program's own tree as @, the one thing in which two trees may differ."""
        return raw.decode("utf-8", "replace").replace(self.root + "/", "@/").replace(TREE + "/", "@/").replace(self.path, "@stepsim")

    def run(self, line, given=b""):
        return subprocess.run([self.path] + line, cwd=self.folder, env=self.env, input=given, capture_output=True,
                              timeout=TIMEOUT_S)

    def pictures(self, line):
        """Files that the command writes, as an object of their hashes."""
        with tempfile.TemporaryDirectory(dir=self.folder) as at:
            names = {"--gantt": "gantt.svg", "--memory": "memory.svg", "--trace": "trace.json"}
            words = [w for flag, name in names.items() for w in (flag, os.path.join(at, name))]
            p = self.run([w for w in line if w != PICTURES] + words)
            hashes = {}
            for name in sorted(os.listdir(at)):
                with open(os.path.join(at, name), "rb") as f:
                    hashes[name] = hashlib.sha256(f.read()).hexdigest()
        return {"exit": p.returncode, "out": json.dumps(hashes, indent=2) + "\n", "err": self.clean(p.stderr)}

    def call(self, line, whole=True):
        start = time.monotonic()
        try:
            if PICTURES in line:
                return self.pictures(line)
            p = self.run(line[:line.index(PIPE)] if PIPE in line else line)
            if PIPE in line and p.returncode == 0:
                p = self.run(line[line.index(PIPE) + 1:], p.stdout)
        except subprocess.TimeoutExpired:
            return {"exit": "more than %d s" % TIMEOUT_S, "out": "", "err": ""}
        finally:
            self.times.append((time.monotonic() - start, line))
        out = self.clean(p.stdout) if whole else "sha256 " + hashlib.sha256(p.stdout).hexdigest() + "\n"
        return {"exit": p.returncode, "out": out, "err": PROGRESS.sub("", self.clean(p.stderr))}

    def result(self, task):
        if not self.cache:
            return self.call(task.words, task.whole)
        name = os.path.join(self.cache, task.key())
        try:
            with open(name, "rb") as f:
                return json.loads(zlib.decompress(f.read()))
        except (OSError, ValueError, zlib.error):
            pass
        result = self.call(task.words, task.whole)
        if isinstance(result["exit"], int) and result["exit"] >= 0:
            part = "%s.%d" % (name, os.getpid())
            with open(part, "wb") as f:
                f.write(zlib.compress(json.dumps(result).encode(), 3))
            os.replace(part, name)
        return result


class Task:
    """One command line for both binaries."""

    def __init__(self, kind, words, job=None, files=None, whole=True):
        self.kind, self.words, self.job, self.files, self.whole = kind, words, job, files or {}, whole

    def key(self):
        return hashlib.sha256(json.dumps([self.words, self.files, self.whole], sort_keys=True).encode()).hexdigest()[:32]


def without(words, *flags):
    """The words without these flags and their values."""
    kept, skip = [], False
    for w in words:
        if w.startswith("--"):
            skip = w in flags
        if not skip:
            kept.append(w)
    return kept


def tasks_of(job, all_of_them):
    """run and the expanded program of every job; the other commands of some."""
    def task(kind, words, **more):
        return Task(kind, words, job, job.files, **more)

    plain = without(job.words, "--measured", "--measured-memory")
    yield task("run", ["run"] + job.words + job.sim + job.run + ["--json"])
    yield task("expanded", ["program", "write"] + plain + job.sim + ["--expanded"], whole=False)
    i = job.index if all_of_them else job.index * 7
    if i % 4 == 0:
        yield task("plan", ["plan"] + plain + ["--json"])
    if i % 5 == 0:
        yield task("program", ["program", "write"] + plain + job.sim)
    if i % 20 == 3 and not job.big:
        read = ["program", "read", "-", "--engine", job.engine, "--json"]
        yield task("read", ["program", "write"] + plain + job.sim + [PIPE] + read)
    if i % 40 == 5 and not job.big:
        yield task("pictures", ["run"] + plain + job.sim + job.run + [PICTURES])
    if i % 25 == 0 and not job.big:
        vary = [["--vary", "recompute=none,full"], ["--vary", "mbs=1,2"], ["--vary", "nodes=2,4"],
                ["--vary", "set=ss.nic.bandwidth=12.5GBps,50GBps"], ["--vary", "pp=1,2", "--vary", "tp=1,2"]]
        yield task("sweep", ["sweep", "--json"] + plain + vary[i // 25 % len(vary)])
    if i % 25 == 7 and not job.big:
        yield task("compare", ["schedule", "compare", "--json"] + without(plain, "--schedule"))


def fixed_tasks(names, quick):
    """What belongs to no job."""
    yield Task("list", ["list", "--json"])
    yield Task("schedule", ["schedule", "list", "--json"])
    yield Task("validate", ["validate", "--json"])
    if quick:
        return
    yield Task("validate", ["validate", "runs", "foreign", "vtrain", "--json"])
    yield Task("validate", ["validate", "runs", "--engine", "simgrid", "--json"])
    for p in names["platforms"]:
        yield Task("platform", ["platform", "show", p["name"], "--json"])
    yield Task("sweep", ["sweep", "--json", "--job", "8b-05", "--vary", "nodes=2,4", "--set", "ss.price=2.5USD/h"])
    for cap in ([], ["--cap", "3"], ["--v", "--no-barrier"], ["--whole", "--memory", "1,0.5", "--seed", "3"]):
        yield Task("schedule", ["schedule", "search", "--pp", "4", "--microbatches", "8", "--times", "1,1.2,0.8",
                                "--steps", "300", "--json"] + cap)
    for s in names["schedules"]:
        for shape in (["--pp", "2", "--microbatches", "4"], ["--pp", "4", "--microbatches", "8", "--vp", "2"]):
            yield Task("schedule", ["schedule", "show", s] + shape + ["--json"])
    yield Task("compare", ["schedule", "compare", "--pp", "4", "--microbatches", "8", "--times", "1,1.2,0.8", "--json"])


def names_of(binary):
    """What the jobs draw from: as the old binary lists it."""
    result = binary.result(Task("list", ["list", "--json"]))
    if result["exit"] != 0:
        sys.exit("net: %s list --json: exit %s\n%s" % (binary.path, result["exit"], result["err"]))
    listed = json.loads(result["out"])
    names = {"stacks": [s["name"] for s in listed["stacks"]], "schedules": [s["name"] for s in listed["schedules"]]}
    names["platforms"] = [{"name": p["name"], "gpus": int(p["description"].split()[0])} for p in listed["platforms"]]
    names["models"] = []
    for m in listed["models"]:
        told = re.search(r"(\d+) layers of (\d+), (?:heads )?(\d+)(?: heads, |/)(\d+)", m["description"])  # binaries before 2cb784c7
        layers, hidden, heads, groups = map(int, told.groups()) if told else (
            m["num_layers"], m["hidden_size"], m["num_attention_heads"], m["num_query_groups"])
        names["models"].append({"name": m["name"], "layers": layers, "hidden": hidden, "heads": heads,
                                "groups": groups})
    return names


def flag_table():
    """Own and modelled flags of this tree's table."""
    for name in ("docs/reference/flags.md", "docs/flags.md"):
        path = os.path.join(TREE, name)
        if os.path.exists(path):
            with open(path) as f:
                rows = re.findall(r"^\| `(--[^`]+)` \| . \| (own|modelled) \|", f.read(), re.M)
            if rows:
                return {flag: kind for flag, kind in rows}
    sys.exit("net: docs/flags.md has no table of flags")


def quick_subset(all_jobs, count):
    """Jobs that together show everything that the coverage counts, then others, spread."""
    missing = set().union(*(j.seen for j in all_jobs))
    chosen, rest = [], list(all_jobs)
    while missing and len(chosen) < count:
        best = max(rest, key=lambda j: (len(j.seen & missing), -j.index))
        if not best.seen & missing:
            break
        chosen.append(best)
        rest.remove(best)
        missing -= best.seen
    step = max(1, len(rest) // max(1, count - len(chosen)))
    return sorted(chosen + rest[::step][:count - len(chosen)], key=lambda j: j.index)


def outcome(result):
    """The verdict, or the error's code and the start of its message."""
    data = compare.as_json(result["out"])
    if not isinstance(data, dict):
        return "exit %s" % result["exit"], ""
    if "error" in data:
        return data["error"]["code"], re.sub(r"[-+.\w]*\d[-+.\w]*", "N", data["error"]["message"])[:60]
    return data.get("verdict", data.get("predicted_outcome", "ok")), ""


class Report:
    """What was compared and what differed."""

    def __init__(self, rules, lenient):
        self.used, self.lenient, self.reworded = [0] * len(rules), lenient, []
        self.compared, self.differing = collections.Counter(), []
        self.outcomes, self.reasons = collections.Counter(), collections.Counter()
        self.seen, self.ran = collections.Counter(), collections.Counter()
        self.late = []

    def add(self, task, old, new, rows):
        self.compared[task.kind] += 1
        if not isinstance(old["exit"], int) or old["exit"] < 0 or not isinstance(new["exit"], int) or new["exit"] < 0:
            self.late.append((task, old["exit"], new["exit"]))
        if rows and self.lenient and all(re.match(r"error\.(message|hint)$|stderr, ", where) for where, _, _ in rows):
            self.reworded.append((task, rows))
        elif rows:
            self.differing.append((task, rows))
        if task.kind == "run":
            code, reason = outcome(old)
            self.outcomes[code] += 1
            if reason:
                self.reasons[code + ": " + reason] += 1
            for item in task.job.seen:
                self.seen[item] += 1
                if code in RUN:
                    self.ran[item] += 1

    def coverage(self, flags, names, props, out):
        """Prints the table; returns what no job covers."""
        missing = []
        jobs_run = sum(self.outcomes.values())
        share = sum(self.outcomes[code] for code in RUN) / max(1, jobs_run)
        print("\ncoverage: %d jobs, %.0f %% of them run; in parentheses: of these" % (jobs_run, 100 * share), file=out)
        print("  outcomes: " + ", ".join("%s %d" % x for x in self.outcomes.most_common()), file=out)
        for kind in ("level", "engine", "pair", "size", "simulation", "precision", "cp-comm-type", "platform", "stack",
                     "schedule", "model"):
            items = sorted(i for i in self.seen if i[0] == kind)
            print("  %s: %s" % (kind, ", ".join("%s %d (%d)" % (i[1], self.seen[i], self.ran[i]) for i in items)),
                  file=out)
        wanted = [("flag", f) for f in flags if f not in changes.NEW_FLAGS]
        wanted += [("prop", p) for p in props if p not in changes.NEW_PROPS]
        wanted += [("platform", p["name"]) for p in names["platforms"]] + [("stack", s) for s in names["stacks"]]
        wanted += [("schedule", s) for s in names["schedules"]] + [("model", m["name"]) for m in names["models"]]
        for kind in ("flag", "prop"):
            counts = [(self.ran[i], i[1]) for i in wanted if i[0] == kind]
            print("  %ss: %d of %d in a job that runs; fewest: %s" % (
                kind, sum(1 for n, _ in counts if n), len(counts),
                ", ".join("%s %d" % (name, n) for n, name in sorted(counts)[:8])), file=out)
        others = [i for i in self.seen if i[0] == "other"]
        print("  wrong or unusual words: %d of %d" % (len(others), len(words.OTHER)), file=out)
        print("  most common of %d refusals:" % len(self.reasons), file=out)
        for text, n in self.reasons.most_common(12):
            print("    %4d  %s" % (n, text), file=out)
        for item in wanted:
            if not self.ran[item] and item[1] not in NEVER_RUNS:
                missing.append("%s %s: in no job that runs (%d refused)" % (item + (self.seen[item],)))
        if share < 0.6:
            missing.append("only %.0f %% of the jobs run, 60 %% should" % (100 * share))
        return missing

    def differences(self, out):
        for task, rows in self.reworded:
            print("reworded, a rule in changes.py is due: %s: %s" % rows[0][1:], file=out)
        for task, rows in sorted(self.differing, key=lambda d: (d[0].job.index if d[0].job else -1, d[0].kind))[:SHOWN_JOBS]:
            print("\n%s differs%s:" % (task.kind, " (job %d)" % task.job.index if task.job else ""), file=out)
            print("  stepsim " + " ".join(task.words), file=out)
            for where, a, b in rows[:SHOWN_ROWS]:
                print("    %s\n      old %s\n      new %s" % (where, a, b), file=out)
            if len(rows) > SHOWN_ROWS:
                print("    and %d more" % (len(rows) - SHOWN_ROWS), file=out)
        if len(self.differing) > SHOWN_JOBS:
            print("\nand %d more outputs differ" % (len(self.differing) - SHOWN_JOBS), file=out)
        if self.differing:
            where = collections.Counter(re.sub(r"\[\d+\]", "[*]", w) for _, rows in self.differing
                                        for w in {r[0] for r in rows})
            print("\nwhere outputs differ, and in how many:", file=out)
            for path, n in where.most_common(20):
                print("  %5d  %s" % (n, path), file=out)


def props_of(binary):
    """Every ss. property that `run --json` lists."""
    result = binary.result(Task("run", ["run", "--platform", "h800", "--nodes", "1", "--model", "qwen2.5-0.5b", "--bf16",
                                        "--seq", "1024", "--mbs", "1", "--json"]))
    inputs = json.loads(result["out"])["inputs"]
    return sorted(k for k in list(inputs["stack"]) + list(inputs["platform"]["card"]) if k.startswith("ss."))


def arguments():
    p = argparse.ArgumentParser(description="Compares two stepsim binaries over random jobs.")
    p.add_argument("old")
    p.add_argument("new")
    p.add_argument("--jobs", type=int, default=2000)
    p.add_argument("--seed", default="1")
    p.add_argument("--quick", type=int, metavar="N", help="a fixed subset of N of the jobs")
    p.add_argument("--only", type=int, metavar="INDEX", help="this job alone")
    p.add_argument("--cache", default=os.path.join(tempfile.gettempdir(), "stepsim-net-cache"),
                   help="what the old binary printed; none: no cache")
    p.add_argument("-j", type=int, default=os.cpu_count() or 2, help="processes at a time")
    p.add_argument("--files", help="leaves the jobs' files in this folder")
    p.add_argument("--slowest", type=int, default=0, metavar="N", help="prints the N slowest commands of NEW")
    return p.parse_args()


def write_files(folder, tasks):
    for name, text in {n: t for task in tasks for n, t in task.files.items()}.items():
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)


def all_tasks(args, names):
    drawn = [jobs.make(args.seed, i, names) for i in range(args.jobs)]
    if args.only is not None:
        drawn = [jobs.make(args.seed, args.only, names)]
    elif args.quick:
        drawn = quick_subset(drawn, args.quick)
    tasks = [t for job in drawn for t in tasks_of(job, not args.quick)]
    return tasks if args.only is not None else list(fixed_tasks(names, args.quick)) + tasks


def run(args, folder):
    cache = None if args.cache == "none" else args.cache
    old, new = Binary(args.old, folder, cache), Binary(args.new, folder)
    names = names_of(old)
    tasks, report = all_tasks(args, names), Report(changes.RULES, args.quick)
    write_files(folder, tasks)

    def both(task):
        return task, old.result(task), new.result(task)

    with concurrent.futures.ThreadPoolExecutor(max_workers=args.j) as pool:
        for n, (task, a, b) in enumerate(pool.map(both, tasks)):
            words = task.words + " ".join(task.files.values()).split()
            report.add(task, a, b, compare.compare(task.kind, words, a, b, changes.RULES, report.used))
            if sys.stderr.isatty():
                sys.stderr.write("\r%d of %d, %d differ " % (n + 1, len(tasks), len(report.differing)))
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    failed = bool(report.differing or report.late)
    report.differences(sys.stdout)
    for task, a, b in report.late[:SHOWN_JOBS]:
        print("killed or too slow (old %s, new %s): stepsim %s" % (a, b, " ".join(task.words)))
    if not args.quick and args.only is None and args.jobs >= 2000:
        for text in report.coverage(flag_table(), names, props_of(old), sys.stdout):
            print("not covered: " + text)
            failed = True
        for rule, n in zip(changes.RULES, report.used):
            print("listed change, %d times: %s %s (%s)" % (n, rule["op"], rule.get("path", ""), rule["commit"]))
            if not n:
                print("stale rule: it applies to no output; drop it from changes.py")
                failed = True
    print("net: %s, %d differ; %s of the old binary were run, the others known" % (
        ", ".join("%d %s" % (n, k) for k, n in report.compared.items()), len(report.differing), len(old.times)))
    if args.slowest:
        for seconds, line in sorted(new.times, reverse=True)[:args.slowest]:
            print("%6.2f s  stepsim %s" % (seconds, " ".join(line)))
    return 1 if failed else 0


def main():
    args = arguments()
    if args.files:
        os.makedirs(args.files, exist_ok=True)
        sys.exit(run(args, args.files))
    with tempfile.TemporaryDirectory(prefix="stepsim-net-") as folder:
        sys.exit(run(args, folder))


if __name__ == "__main__":
    main()

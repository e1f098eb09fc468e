#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the tests notice a wrong line? Builds mutants of sim/ one by one and runs unit and cli tests until one fails.

    tests/mutation/run.py --update                     renews mutants.tsv: lines that moved, code that is gone
    tests/mutation/run.py --run [--count N] [--shard I/N]
                                                       builds and tests mutants of the list that this shard has no answer for
    tests/mutation/run.py --run --only FILE|ID         those of a file, or one
    tests/mutation/run.py --run --again --label nightly
                                                       and those that survived before, by all tests (otherwise by those of label ci)
    tests/mutation/run.py --run --reach build-coverage and of each only the tests that run its line, see below
    tests/mutation/run.py --score [--keep]             prints the score of all shards; --keep writes outcomes into mutants.tsv

A shard works in a copy of the tracked files below --work (build-mutation), so that several may run at once and be stopped at any time;
answers are kept there. The order of the list's mutants is drawn, so that the first N are a sample. Unit tests run first, then cli tests
and the others that take less than --slow seconds of processor time; the test that mutants.tsv names, those that found mutants of the file,
those named like it, and those that found most, come first. A mutant that compiles to the same object, or not at all, is left out of the score.

--reach: a built tree of the preset `coverage`, of the same sources. Each test runs there once, its lines are kept in --work/reach.json,
and a mutant of a line that no test runs has survived without a run.
"""
import argparse
import collections
import contextlib
import filecmp
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

import mutants as table
import reach

ROOT = os.path.dirname(os.path.dirname(table.FOLDER))
# Of survivors: id, kind (equivalent: no test can find it), and why, so that a reader can check it.
EXPLAINED = os.path.join(table.FOLDER, "survivors.tsv")
OUTCOMES = ("killed", "survived", "same", "no build")
# Checks of the sources' text, and of what is not built here.
NO_TESTS = ("fuzz.", "layering", "structure", "format", "walks.", "props", "globals", "headers", "tiers", "clocks", "options.refused", "runner.", "browser",
            "consumer", "bench", "net.", "probe.", "mutation.",
            "unit.self")
ADDRESS_SPACE = 8 << 30  # of a test, bytes


def run(words, **more):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **more)


def limits(seconds):
    os.setsid()
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP): # a shell's background job ignores them; a test that sends one would wait
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1])) # the sandbox sets one of its own
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def tests_of(build, label):
    """name -> (command, environment) of the tests of a build folder that have the label."""
    listed = json.loads(run(["ctest", "--test-dir", build, "-L", "^%s$" % label, "--show-only=json-v1"]).stdout)
    known = {}
    for test in listed["tests"]:
        if not test["name"].startswith(NO_TESTS):
            more = [p["value"] for p in test["properties"] if p["name"] == "ENVIRONMENT"]
            more = dict(pair.split("=", 1) for pair in (more[0] if more else []))
            known[test["name"]] = (test["command"], dict(os.environ, **more))
    return known


def processor_time():
    """Seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fails(test, limit, more=()):
    """limit: seconds of processor time of each process; a test that sleeps instead has five times as long, as on a busy machine."""
    words, environment = test
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                          env=dict(environment, **dict(more)), preexec_fn=lambda: limits(int(limit) + 1)) as process:
        try:
            return process.wait(5 * limit) != 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return True


class Tests:
    """The tests of a build folder, how long each took when nothing was changed, and the lines that it runs."""

    def __init__(self, build, work, slow, counted, label):
        self.label = label
        self.known = tests_of(build, label)
        self.found = collections.Counter()
        self.last, self.near = {}, collections.defaultdict(collections.Counter) # the test that killed a mutant, and those of a file
        for m in table.read():
            if m.outcome == "killed":
                self.last[m.id] = m.test
                self.near[m.file][m.test] += 1
        self.slow, self.seconds = slow, self.measured(os.path.join(work, "times.json"))
        self.reach = None
        if counted:
            self.measure_reach(os.path.join(os.path.dirname(work), "reach.json"), os.path.abspath(counted), work)

    def measured(self, path):
        """Seconds of processor time of each test, which a busy machine does not change; those that fail or are new are run."""
        seconds = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                seconds = {name: s for name, s in json.load(file).items() if name in self.known}
        for name in sorted(set(self.known) - set(seconds)):
            begin = processor_time()
            if fails(self.known[name], 3600):
                print("%s fails without a change: left out" % name, flush=True)
            else:
                seconds[name] = processor_time() - begin
        with open(path, "w", encoding="utf-8") as file:
            json.dump(seconds, file, indent=1)
        return seconds

    def measure_reach(self, path, build, work):
        self.reach = reach.Reach(path)
        counted = tests_of(build, self.label)
        for name in sorted(set(self.seconds) & set(counted), key=lambda n: (not n.startswith("unit."), n)):
            if not self.reach.has(name):
                self.reach.measure(name, lambda more, name=name: fails(counted[name], 100, more.items()), build, os.path.dirname(build), work)

    def order(self, mutant):
        """The tests that may find it, those likely to first."""
        last, near = self.last.get(mutant.id), self.near[mutant.file]
        names = {name for name, s in self.seconds.items() if s < self.slow or name == last}
        if self.reach:
            names = {name for name in names if not self.reach.has(name)} | (names & self.reach.tests_of(mutant.file, mutant.line))
        path = mutant.file[:-len(".c")].split("/")
        alike = {"unit." + path[-1], "unit." + path[-1].split("_")[0], "unit." + path[-2]}
        return sorted(names, key=lambda n: (n != last, -near[n], n not in alike, not n.startswith("unit."), self.seconds[n] / (1 + self.found[n])))

    def first_failure(self, mutant):
        """The name of a test that fails, or None."""
        for name in self.order(mutant):
            if fails(self.known[name], 10 + 20 * self.seconds[name]):
                self.found[name] += 1
                self.near[mutant.file][name] += 1
                return name
        return None


class Shard:
    def __init__(self, work, slow, counted, label):
        self.source, self.build = (os.path.realpath(os.path.join(work, name)) for name in ("source", "build"))
        self.answers = os.path.join(work, "answers.tsv")
        self.prepare()
        self.tests = Tests(self.build, work, slow, counted, label)
        for _, outcome, test in read_answers([self.answers]):
            self.tests.found[test] += outcome == "killed"
        self.commands = run(["ninja", "-C", self.build, "-t", "commands", "stepsim", "stepsim-cli", "stepsim-driver", "stepsim-simgrid",
                             "stepsim-simgrid-program", "stepsim-http", "stepsim-pages"]).stdout.splitlines()
        self.pages = [command for command in self.commands if "cmake/pages.cmake" in command]

    def prepare(self):
        """A copy of the tracked files, built with a shared library, so that a mutant is compiled and linked once."""
        names = set(run(["git", "-C", ROOT, "ls-files"]).stdout.splitlines())
        for folder, _, files in os.walk(self.source): # CMake finds sources by folder: a file that is gone would be compiled
            for file in files:
                path = os.path.join(folder, file)
                if os.path.relpath(path, self.source) not in names:
                    os.remove(path)
        for name in sorted(names):
            ours, copy = os.path.join(ROOT, name), os.path.join(self.source, name)
            if os.path.isfile(ours) and not (os.path.isfile(copy) and filecmp.cmp(ours, copy, shallow=False)):
                os.makedirs(os.path.dirname(copy), exist_ok=True)
                shutil.copy2(ours, copy)
                os.utime(copy)
        done = run(["cmake", "-G", "Ninja", "-S", self.source, "-B", self.build, "-DCMAKE_BUILD_TYPE=Release", "-DSS_LINKED=SHARED",
                    "-DSS_PROBE=OFF", "-DCMAKE_POSITION_INDEPENDENT_CODE=ON", "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON"])
        if done.returncode == 0:
            done = run(["cmake", "--build", self.build])
        if done.returncode:
            sys.exit(done.stdout[-3000:])

    def steps(self, file):
        """(path of what is made, command) that make what a source file is in: its object, then what links it."""
        objects, steps = set(), []
        for command in self.commands:
            words = command.split()
            out = words[words.index("-o") + 1] if "-o" in words else None
            compiles = "-c" in words and words[-1] == os.path.join(self.source, file)
            if out and (compiles or objects & set(words)):
                objects |= {out} if compiles else set()
                steps.append((os.path.join(self.build, out), command))
        return steps

    @contextlib.contextmanager
    def changed(self, mutant, steps):
        """The source with the mutant; it and all that is made of it are put back as they were, times too."""
        path = os.path.join(self.source, mutant.file)
        kept = [path] + [out for out, _ in steps]
        for file in kept:
            shutil.copy2(file, file + ".before")
        try:
            with open(path, encoding="utf-8") as file:
                lines = file.read().split("\n")
            indent = lines[mutant.line - 1][:-len(mutant.before)]
            lines[mutant.line - 1] = indent + mutant.after
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(lines))
            yield
        finally:
            for file in kept:
                os.replace(file + ".before", file)
            self.write_pages(mutant)

    def write_pages(self, mutant):
        """The manual pages and completion that the program writes of its tables."""
        if mutant.file.startswith("sim/cli/"):
            for command in self.pages:
                run(command, shell=True, cwd=self.build)

    def answer(self, mutant):
        """(outcome, test that found it or "")."""
        if self.tests.reach and not self.tests.order(mutant):
            return "survived", ""
        steps = self.steps(mutant.file)
        with self.changed(mutant, steps):
            for out, command in steps:
                if run(command, shell=True, cwd=self.build).returncode:
                    return "no build", ""
                if out.endswith(".o") and filecmp.cmp(out, out + ".before", shallow=False):
                    return "same", ""
            self.write_pages(mutant)
            test = self.tests.first_failure(mutant)
            return ("killed", test) if test else ("survived", "")

    def work(self, wanted, again):
        known = {row[0]: row[1] for row in read_answers([self.answers])}
        for mutant in wanted:
            if mutant.id not in known or (again and known[mutant.id] == "survived"):
                begin = time.time()
                outcome, test = self.answer(mutant)
                with open(self.answers, "a", encoding="utf-8") as file:
                    file.write("%s\t%s\t%s\n" % (mutant.id, outcome, test))
                print("%s %s:%d %s: %s %s (%.0f s)\n  %s\n  %s" % (mutant.id, mutant.file, mutant.line, mutant.rule, outcome, test,
                                                                 time.time() - begin, mutant.before, mutant.after), flush=True)


def read_answers(paths):
    for path in paths:
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    if not line.startswith(("#", "id\t")):
                        yield (line.rstrip("\n").split("\t") + ["", ""])[:3]


def percent(part, whole):
    return 100.0 * part / max(1, whole)


def score(work, keep):
    """Of the mutants of today's list: answers of the shards, else those that are committed."""
    listed = {m.id: m for m in table.read()}
    answers = {m.id: [m.outcome, m.test] for m in listed.values() if m.outcome}
    answers.update((row[0], row[1:]) for row in read_answers(sorted(glob.glob(os.path.join(work, "*", "answers.tsv")))) if row[0] in listed)
    explained = {row[0]: row[1:] for row in read_answers([EXPLAINED])}
    count = collections.Counter(outcome for outcome, _ in answers.values())
    by_unit = sum(outcome == "killed" and test.startswith("unit.") for outcome, test in answers.values())
    by_ci = sum(outcome == "killed" and not test.endswith((".all", ".exact")) for outcome, test in answers.values()) # tests/CMakeLists.txt
    left = sorted((key for key in answers if answers[key][0] == "survived"), key=lambda key: (listed[key].file, listed[key].line))
    tried, alike = count["killed"] + count["survived"], sum(explained.get(key, [""])[0] == "equivalent" for key in left)
    text = ("%d of %d mutants tried: %d killed (%d by label ci, %d by unit tests), %d survived (%d of them equivalent), %d the same program, %d do not "
            "build; score %.1f %% (ci %.1f %%), %.1f %% without equivalent ones" % (
                len(answers), len(listed), count["killed"], by_ci, by_unit, count["survived"], alike, count["same"], count["no build"],
                percent(count["killed"], tried), percent(by_ci, tried), percent(count["killed"], tried - alike)))
    print(text)
    for key in left:
        print("survived: %s %s:%d %s\n  %s\n  %s" % listed[key][:6])
        print("  " + ": ".join(explained.get(key, ["not explained"])))
    if keep:
        table.write([m._replace(outcome=answers[m.id][0], test=answers[m.id][1]) if m.id in answers else m for m in listed.values()])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--score", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--count", type=int)
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--only")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--reach")
    parser.add_argument("--label", default="ci")
    parser.add_argument("--slow", type=float, default=6)
    parser.add_argument("--work", default=os.path.join(ROOT, "build-mutation"))
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1)) # undoes the mutant
    if args.update:
        kept = {m.id: m for m in table.read()} if os.path.exists(table.LIST) else {}
        table.write(table.choose(ROOT, kept))
    if args.run:
        part, parts = map(int, args.shard.split("/"))
        folder = os.path.join(args.work, "%d-of-%d" % (part, parts))
        os.makedirs(folder, exist_ok=True)
        shard = Shard(folder, args.slow, args.reach, args.label)
        now = table.today(shard.source, table.read())
        wanted = sorted(now.values(), key=lambda m: table.number("order", table.SEED, m.id))
        if args.only:
            wanted = [m for m in wanted if args.only in (m.id, m.file)]
        wanted = wanted[:args.count][part::parts]
        shard.work(wanted, args.again)
    if args.score:
        score(args.work, args.keep)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No clock decides what a test says: a machine may be busy. Finds in the tests, in the scripts of the documents and in the build files
each limit of less than an hour, each look at a clock and each nap that is not in the list below.

    tests/clocks.py SOURCE

A limit of processor time (RLIMIT_CPU, ulimit -t), a count, or waiting until something has happened or a process has ended takes its
place. ctest ends what hangs (tests/CMakeLists.txt).
"""
import os
import re
import subprocess
import sys

LEAST = 3600  # seconds
# (what it is, its pattern; a group: the seconds, by number or by the name of a constant of the file)
KINDS = (
    ("a limit", r"\btimeout(?:_s)?\s*=\s*([\w.]+)"), ("a limit", r"\.wait\(\s*(\d[\w.]*)"), ("a limit", r"\bsettimeout\(\s*([\w.]+)"),
    ("a limit", r"\bset_(?:page_load|script)_timeout\(\s*([\w.]+)"), ("a limit", r"\bWebDriverWait\([^,()]*,\s*([\w.]+)"),
    ("a limit", r"\balarm\(\s*([\w.]+)"), ("a limit", r"\bTIMEOUT\s+([\w.${}]+)"), ("a limit", r"\bss_test_of\(\s*\"[^\"]*\"\s+(\d+)"),
    ("a limit", r"(?:^|[|;&(]\s*|\bexec )timeout\s+(?:-\S+\s+)*(\d\w*)"), ("a limit", r"--timeout[ =](\d+)"),
    ("a clock", r"\btime\.(?:time|monotonic|perf_counter)\b"), ("a clock", r"\bclock_gettime\("), ("a clock", r"\bgettimeofday\("),
    ("a clock", r"\bdate \+%s"), ("a clock", r"\bss_clock\("), ("a clock", r"\$SECONDS\b"),
    ("a nap", r"\bsleep\s*\(?\s*[\d.$]"), ("a nap", r"\b(?:u|nano)sleep\("),
)
# file: {what may stand there: why}
MAY = {
    ".ci/run": {"date +%s": "the seconds of each step are told"},
    "tests/CMakeLists.txt": {"TIMEOUT ${seconds}": "of ss_test_of, an hour or more"},
    "tests/bench/": {"": "it measures time, and ctest only asks it whether it runs"},
    "tests/cli/missing/signals-leave-nothing.cmd": {"sleep 0.01": "until a file is there or the program has ended"},
    "tests/clocks.py": {"": "these patterns and their samples"},
    "tests/fuzz/run.py": {"": "by hand: fuzzing for as long as is asked"},
    "tests/journal.py": {"time.sleep(0.001)": "until the journal is long enough or the command has ended"},
    "tests/cost.py": {"signal.alarm(": "the limit that ctest has"},
    "tests/launch.py": {"echo after $SECONDS s": "of a script, which is not told that the shell sets it",
                        "perl -e 'sleep 11'": "of a script that has to meet the program's limit, sooner on a busy machine"},
    "tests/launch/": {"": "scripts of users, which sleep and look at clocks"},
    "tests/limits.py": {"time.sleep(0.001)": "until SimGrid runs, or is looked for, or the command has ended"},
    "tests/mpi.py": {"time.sleep(0.001)": "until the journal is long enough or the job has ended"},
    "tests/net/net.py": {"time.monotonic()": "the slowest jobs are told"},
    "tests/mutation/run.py": {"": "tests are tried in the order of what they take"},
    "tests/probe/stand-in/": {"": "a clock that it makes itself"},
    "tests/unit/import/test_launch.c": {"ss_clock() + 3600": "an hour for a script of milliseconds"},
    "tests/unit/replay/test_helper.c": {"usleep(1000)": "until a process has ended"},
}
SAMPLES = {
    "a.py": ("run(words, timeout=10)", "p.wait(20)", "s.settimeout(5)", "w.set_page_load_timeout(60)", "WebDriverWait(self.web, 30).until(f)",
             "LIMIT_S = 300\nrun(words, timeout=LIMIT_S)", "end = time.monotonic() + 15", "time.sleep(0.1)"),
    "a.sh": ("timeout 20 ./program", "x | timeout -k 1 5s y", "begun=$(date +%s)", "sleep 1", "ctest --timeout 100"),
    "a.c": ("alarm(120);", "usleep(1000);", "clock_gettime(CLOCK_MONOTONIC, &t);", "x.end = ss_clock() + 60;"),
    "a.cmake": ("set_tests_properties(a PROPERTIES TIMEOUT 600)",),
}
FREE = {"a.py": ("run(words, timeout=7200)", "run(words)", "LIMIT_S = 3600\nrun(words, timeout=LIMIT_S)", "p.wait()", "sleeper(3)"),
        "a.cmake": ("set_tests_properties(a PROPERTIES TIMEOUT 3600)",)}


def seconds(text, word):
    """Of a number, or of a constant that the file sets; 0: not known."""
    named = re.search(r"^\s*%s\s*=\s*(\d+)" % re.escape(word), text, re.M)
    number = re.match(r"\d+", named.group(1) if named else word)
    return int(number.group()) if number else 0


def found(text):
    """(line, what it is, the words) of all that may decide."""
    for what, pattern in KINDS:
        for m in re.finditer(pattern, text, re.M):
            if not m.groups() or seconds(text, m.group(1)) < LEAST:
                yield text.count("\n", 0, m.start()) + 1, what, m.group().strip()


def files(source):
    names = subprocess.run(["git", "-C", source, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=False).stdout.split("\n")
    if len(names) < 100:  # no clone
        names = [os.path.relpath(os.path.join(at, name), source) for top in ("tests", "docs", "cmake") for at, _, there in os.walk(os.path.join(source, top))
                 for name in there] + ["CMakeLists.txt", "CMakePresets.json", "setup.sh"]
    for name in sorted(names):
        of_tests = name.startswith(("tests/", "docs/", ".ci/", "cmake/")) or "/" not in name
        text = name.endswith((".py", ".sh", ".c", ".h", ".cmd", ".cmake", "CMakeLists.txt", "CMakePresets.json")) or name == ".ci/run"
        if of_tests and text and os.path.isfile(os.path.join(source, name)):
            yield name


def check_self():
    for name, samples in SAMPLES.items():
        for sample in samples:
            if not list(found(sample)):
                yield "%s: \"%s\" is not found" % (name, sample)
    for name, samples in FREE.items():
        for sample in samples:
            for _, what, words in found(sample):
                yield "%s: \"%s\" is taken for %s: %s" % (name, sample, what, words)


def main():
    source = sys.argv[1]
    bad, used = list(check_self()), set()
    for name in files(source):
        with open(os.path.join(source, name), encoding="utf-8", errors="replace") as f:
            text = f.read()
        for line, what, words in found(text):
            may = [(place, part) for place, parts in MAY.items() if name.startswith(place) for part in parts
                   if part in text.split("\n")[line - 1]]
            used.update(may)
            if not may:
                bad.append("%s:%d: %s: %s" % (name, line, what, words))
    bad += ["clocks.py: %s has no \"%s\" any more" % (place, part) for place, parts in MAY.items() for part in parts if (place, part) not in used]
    for text in bad:
        print(text)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

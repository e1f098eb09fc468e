#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs command lines and compares what they print and how they end with what was committed.

    run.py PROGRAM SOURCE_ROOT [--driver DRIVER] [GROUP...]

Each tests/cli/GROUP/NAME.cmd is a shell line. It runs in an empty folder with $STEPSIM = PROGRAM and $SRC = SOURCE_ROOT; stdout, stderr and exit
status must be NAME.out, NAME.err (no file: nothing is written) and NAME.exit (no file: 0). In outputs SOURCE_ROOT is written SRC.
In expected files {#} stands for a number that moves when predictions move ({#9}: in 9 columns, to the right; {#-9}: to the left). The numbers are rows of
tests/cli/figures.tsv: file, line, and its numbers in order; a wrong one fails as a wrong word does.

UPDATE=figures in the environment rewrites figures.tsv alone and fails where words differ; UPDATE=1 rewrites the expected files, too. There a number that moved while the words
beside it stayed becomes {#}, and in what is new each that has a fraction or a unit of time, memory or rate.

With --driver (build/tests/stepsim-driver) a line that is one command runs in one process with others, and $STEPSIM in other lines is a
small program that has the driver run the command. Lines about signals, pipes that wait and files beside the program get PROGRAM itself.
"""
import argparse
import difflib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import places

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(os.path.dirname(HERE), "inproc")]

import driver  # noqa: E402

# Words of lines that need a process: its signals, its folder, its answers to who waits.
NEEDS_PROCESS = re.compile(r"\b(kill|mkfifo|ulimit|timeout|serve|wait|doctor|dirname)\b")
# A slow machine tells how far a long replay is.
PROGRESS = re.compile(rb"^[a-z]*: [0-9.e+-]* % after [0-9]* s\n", re.M)
ENVIRONMENT = {"LC_ALL": "C", "STEPSIM_DATA": None, "COLUMNS": None, "STEPSIM_PROGRESS": "off"}
WORD = re.compile(r"""\s*(?:'([^']*)'|"([^"$`\\]*|\$STEPSIM|\$SRC(?:/[^"$`\\]*)?)"|([A-Za-z0-9_./:,=+@%^-]+))""")


def plain_words(line, source, program="$STEPSIM"):
    """The words behind the program of a line that is that one command with nothing for a shell to do, else None."""
    line = line.strip()
    words, at = [], 0
    while at < len(line):
        found = WORD.match(line, at)
        if not found:
            return None
        word = next(g for g in found.groups() if g is not None)
        if found[2] is not None and word.startswith("$SRC"):
            word = source + word[len("$SRC"):]
        if at > 0 and not line[at].isspace():  # as --name="value"
            words[-1] += word
        else:
            words.append(word)
        at = found.end()
    return words[1:] if words and words[0] == program and "\n" not in line else None


class Runner:
    """Runs cases of one source tree; `wrong` is how many were not as expected."""

    def __init__(self, program, source, driver_path=None, update=None):
        self.program, self.source, self.update = os.path.abspath(program), os.path.abspath(source), update
        self.driver = driver.of(driver_path) if driver_path else None
        self.figures = places.Table(os.path.join(self.source, "tests", "cli", "figures.tsv"))
        self.ran = self.wrong = 0

    def answer(self, text, folder):
        """(stdout, stderr, exit status) of a shell line."""
        words = plain_words(text, self.source) if self.driver and not NEEDS_PROCESS.search(text) else None
        if words is not None:
            done = self.driver.run(words, cwd=folder, env=ENVIRONMENT)
            return done.stdout, done.stderr, done.returncode
        settings = dict(ENVIRONMENT, STEPSIM=self.program, SRC=self.source)
        if self.driver and not NEEDS_PROCESS.search(text):
            settings.update(self.driver.for_scripts(self.program))
        done = subprocess.run(["sh", self.case], cwd=folder, env=driver.environment(settings), stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return done.stdout, done.stderr, done.returncode

    def run(self, case):
        self.case, self.ran = case, self.ran + 1
        with open(case, encoding="utf-8") as f:
            text = f.read()
        folder = tempfile.mkdtemp(prefix="stepsim-cli-")
        try:
            out, err, status = self.answer(text, folder)
        finally:
            shutil.rmtree(folder)
        base = case[:-len(".cmd")]
        said = {"out": out, "err": PROGRESS.sub(b"", err), "exit": b"%d\n" % status if status else b""}
        texts = {what: t.decode("utf-8", "surrogateescape").replace(self.source, "SRC") for what, t in said.items()}
        self.wrong += any([not self.as_expected(base + "." + what, t) for what, t in texts.items()])

    def as_expected(self, path, text):
        """Compares with the file, or rewrites it."""
        name = os.path.relpath(path, os.path.join(self.source, "tests", "cli"))
        template = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="surrogateescape", newline="") as f:
                template = f.read()
        if self.update == "1":
            masked, numbers = places.mask(template, self.figures.of(name), text)
            self.figures.put(name, numbers)
            return self.write(path, masked)
        if self.update == "figures":
            numbers = places.read(template, text)
            if numbers is not None:
                self.figures.put(name, numbers)
                return True
        wanted, why = places.fill(template, self.figures.of(name))
        if wanted == text and not why:
            return True
        print("--- %s: %s differs (- expected, + actual)%s" % (self.case, path.rsplit(".", 1)[1], why))
        lines = difflib.unified_diff(wanted.splitlines(True), text.splitlines(True), n=2)
        for line in list(lines)[2:]:
            sys.stdout.write(line.encode("utf-8", "backslashreplace").decode() if line.endswith("\n") else
                             line + "\n\\ no line end\n")
        return False

    @staticmethod
    def write(path, text):
        if text:
            with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as f:
                f.write(text)
        elif os.path.exists(path):
            os.remove(path)
        return True

    def run_groups(self, groups):
        for group in groups:
            folder = os.path.join(self.source, "tests", "cli", group)
            names = sorted(n for n in os.listdir(folder) if n.endswith(".cmd")) if os.path.isdir(folder) else []
            for name in names:
                self.run(os.path.join(folder, name))
            self.check_rows(group, names)
        if self.update:
            self.figures.save()
        if self.driver:
            self.driver.close()
        print("%d commands, %d failed" % (self.ran, self.wrong))
        return 0 if self.ran and not self.wrong else 1

    def check_rows(self, group, names):
        """No row of figures is of a case that is gone."""
        for name in self.figures.names(group + "/"):
            if name.rsplit(".", 1)[0] + ".cmd" not in (group + "/" + n for n in names):
                if self.update:
                    self.figures.put(name, {})
                else:
                    print("--- figures.tsv has %s, of which there is no command" % name)
                    self.wrong += 1


def main():
    parser = argparse.ArgumentParser(prog="run.py")
    parser.add_argument("program")
    parser.add_argument("source")
    parser.add_argument("groups", nargs="*", help="folders of tests/cli; none: all")
    parser.add_argument("--driver")
    args = parser.parse_intermixed_args()
    update = os.environ.pop("UPDATE", "") or None
    if update not in (None, "1", "figures"):
        sys.exit("run.py: UPDATE is 1 or figures")
    cli = os.path.join(args.source, "tests", "cli")
    groups = args.groups or sorted(n for n in os.listdir(cli) if glob.glob(os.path.join(cli, n, "*.cmd")))
    return Runner(args.program, args.source, args.driver, update).run_groups(groups)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: documents.py PROGRAM SOURCE [--driver DRIVER] [--few | --update] [DOCUMENT...]

Types what the documents say. Every line of a fenced block that begins with `stepsim` or `$ stepsim` is run, with what continues
it, in the order of the document and in one folder for each, which begins as a fresh clone looks (links to its folders).
A command must end with 0 or 1 (a job that does not fit is an answer), or as its comment says (`exits 3`). Where the
block shows what a command prints, behind `$ `, that is compared: all of it, or the first paragraphs before a line `...`; words as they are, figures as
close.py has them.
--update writes what they print into the documents.
Commands in a sentence (`stepsim schedule search`) must exist, and their options, too.
`cat > FILE <<END` makes a file; what cannot be had here has a stand-in. --driver (tests/inproc) runs the commands in one process.
--few leaves out the five commands that take forty times as long as all others.
"""
import argparse
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path[1:1] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), name) for name in ("cli", "inproc")]

import close  # noqa: E402
import driver  # noqa: E402
from run import plain_words  # noqa: E402

DOCUMENTS = ("README.md", "docs/*/*.md", "*/README.md", "CONTRIBUTING.md")
HISTORY = ("docs/design/calibration-log.md",)
# Files that a reader has and a test has not
STAND_INS = {"20B.yml": "tests/import/neox/configs/model.yml", "llama2_13b.yaml": "tests/launch/nemo/megatron_llama_config-13b.yaml", "pretrain.sh": "tests/launch/nemo/pretrain.sh",
             "node.xml": "tests/unit/data/lstopo-h100-8.xml", "run.sh": "tests/launch/slurm.sh", "probe.csv": "validation/microbench.csv", "nccl.txt": "tests/unit/data/nccl-tests.txt", "my-runs.csv": "validation/foreign.csv",
             "own-h200.csv": "validation/reread.csv", "own-h200-kernels.csv": "validation/microbench.csv"}
# Left out by --few: what they begin with
LONG = ("stepsim sweep --nodes 32 --model qwen3-235b-a22b", "stepsim share 8b.args@0,2,4,6 ", "stepsim calibrate --platform h100.xml --rows my-runs.csv",
        "stepsim capacity --vary platform=h100,h800,gb200 ", "stepsim capacity --job 70b-14 --platform h800 --layout given --nodes 8..4096 ")
# Flags of jobs are not options of a verb; these commands take them
TAKE_JOBS = ("run", "import", "plan", "sweep", "search", "compare", "explain", "check", "share", "capacity", "serve", "program write", "schedule search", "schedule compare", "validate", "calibrate")


def blocks(lines):
    """(first, end) of the lines of each fenced block, and of those that four spaces tell apart."""
    inside, plain = None, None
    for at, line in enumerate(lines + [""]):
        if line.lstrip().startswith("```"):
            if inside is not None:
                yield inside, at
            inside = at + 1 if inside is None else None
        elif inside is None and line.startswith("    ") and line.strip():
            plain = at if plain is None else plain
        elif plain is not None:
            yield plain, at
            plain = None


def typed(lines, first, end):
    """(command, first and end of the lines that show what it prints, or None) of a block; files of `cat >` are commands, too."""
    found, shows, at = [], any(line.startswith("$ ") for line in lines[first:end]), first
    while at < end:
        line = lines[at].strip() if lines[at].startswith("    ") and not shows else lines[at]
        at += 1
        start = line[2:] if line.startswith("$ ") else line
        if re.match(r"cat > \S+ <<", start):
            stop = lines.index(re.search(r"<<\s*'?(\w+)'?", start)[1], at)
            found.append(("\n".join([start] + lines[at:stop + 1]), None))
            at = stop + 1
            continue
        if not re.match(r"stepsim\s", start) or (shows and not line.startswith("$ ")):
            continue
        while start.endswith("\\"):
            start = start[:-1] + lines[at].strip()
            at += 1
        prints = None
        if shows:
            begin = at
            while at < end and not lines[at].startswith("$ "):
                at += 1
            prints = (begin, at)
        found.append((start, prints))
    return found


def wanted(shown, text):
    """What a document should show of a command that prints the text: all, or as many paragraphs as before, and a line `...`."""
    real = text.rstrip("\n").split("\n")
    if "..." not in shown:
        return real
    many = len([p for p in "\n".join(shown[:shown.index("...")]).split("\n\n") if p.strip()])
    return "\n\n".join("\n".join(real).split("\n\n")[:many]).split("\n") + ["", "..."]


def alike(lines):
    """Error bands move with every row of validation/; --update writes them."""
    return [re.sub(r" \+-[0-9.]* %", "", x).rstrip() for x in lines if not re.match(r"expect |  \(by |    .* too close to call", x)]


class Shell:
    """What types the commands: the program, or a driver where it can stand in."""

    def __init__(self, program, driver_path):
        self.driver = driver.of(driver_path) if driver_path else None
        self.settings, path = {"LC_ALL": "C"}, os.path.dirname(program)
        if self.driver:
            self.names = tempfile.TemporaryDirectory()
            self.settings.update(self.driver.for_scripts(program))
            os.symlink(self.settings.pop("STEPSIM"), os.path.join(self.names.name, "stepsim"))
            path = self.names.name
        self.settings["PATH"] = path + ":" + os.environ["PATH"]

    def type(self, command, folder):
        words = plain_words(re.sub(r"\s#[^'\"]*$", "", command), "", "stepsim") if self.driver else None
        if words is not None:
            return self.driver.run(words, cwd=folder, env=self.settings, text=True)
        return subprocess.run(["sh", "-c", command], cwd=folder, env=driver.environment(self.settings), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)


def run(lines, shell, folder, long):
    """What is wrong with the document's commands; their number; new lines for parts of the document. `long`: what each of LONG is found to be, if it is
    left out."""
    wrong, ran, parts = [], 0, []
    for first, end in blocks(lines):
        for command, prints in typed(lines, first, end):
            if re.search(r" [A-Z]+(\.\.\.)?( |$)", command.split("#")[0]) and not command.startswith("cat"):
                continue # a usage, not a command
            if re.search(r"stepsim serve\b", command):
                continue # runs until it is ended
            if long is not None and command.startswith(LONG):
                long.update(name for name in LONG if command.startswith(name))
                continue
            said = re.search(r"#.*exits (\d)", command)
            answer = shell.type(command, folder)
            ran += 1
            if answer.returncode not in ((int(said[1]),) if said else (0, 1)):
                wrong.append("%s\n    exits %d: %s" % (command, answer.returncode, answer.stderr.strip().split("\n")[-1]))
            elif prints:
                shown = lines[prints[0]:prints[1]]
                now = wanted(shown, answer.stdout)
                parts.append((prints, now))
                for _, old, new in close.differences(alike(shown), alike(now))[:1]:
                    wrong.append("%s\n    shows:  %s\n    prints: %s" % (command, old, new))
    return wrong, ran, parts


def known(program):
    """{command and verb: its options} of `help --options`."""
    options = {}
    for line in subprocess.run([program, "help", "--options"], capture_output=True, text=True, check=True).stdout.splitlines():
        cells = line.split("\t")
        name = cells[0] if cells[1] == "-" else cells[0] + " " + cells[1]
        options.setdefault(name, set()).update(cells[3:5])
    return options


def named(lines, options):
    """What commands in sentences are not, or have not."""
    wrong = []
    text = re.sub(r"^```.*?^```", "", "\n".join(lines), flags=re.S | re.M)
    for command in re.findall(r"`stepsim ([^`]+)`", text):
        words = command.split("|")[0].split()
        verb = " ".join(words[:2]) if " ".join(words[:2]) in options else words[0]
        if words[0].startswith("-"):
            if words[0] not in ("--help", "--version"):
                wrong.append("stepsim %s\n    has no command" % command)
        elif verb not in options:
            if not any(name.startswith(words[0]) for name in options):
                wrong.append("stepsim %s\n    is no command" % command)
        elif verb not in TAKE_JOBS:
            for word in words:
                if re.match(r"--\w", word) and word.split("=")[0] not in options[verb] | {"--help"}:
                    wrong.append("stepsim %s\n    has no option %s" % (command, word))
    return wrong


def fresh(source, folder):
    """A folder as a clone is: what is read is a link, so that nothing is written there."""
    for name in ("workloads", "platforms", "validation", "docs"):
        os.symlink(os.path.join(source, name), os.path.join(folder, name))
    for name, stand_in in STAND_INS.items():
        shutil.copy(os.path.join(source, stand_in), os.path.join(folder, name))


def main():
    parser = argparse.ArgumentParser(prog="documents.py")
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("source", type=os.path.abspath)
    parser.add_argument("documents", nargs="*")
    parser.add_argument("--driver")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--few", action="store_true")
    args = parser.parse_intermixed_args()
    source, update = args.source, args.update
    documents = args.documents or sorted({os.path.relpath(n, source) for d in DOCUMENTS for n in glob.glob(os.path.join(source, d))} - set(HISTORY))
    options, shell, bad, total = known(args.program), Shell(args.program, args.driver), 0, 0
    long = set() if args.few else None
    for document in documents:
        with open(os.path.join(source, document), encoding="utf-8") as f:
            lines = f.read().split("\n")
        with tempfile.TemporaryDirectory() as folder:
            fresh(source, folder)
            wrong, ran, parts = run(lines, shell, folder, long)
        if update and parts:
            for (first, end), now in reversed(parts):
                lines[first:end] = now
            with open(os.path.join(source, document), "w", encoding="utf-8") as f:
                f.write("\n".join(lines))
        wrong = named(lines, options) + [w for w in wrong if not update or "    shows:" not in w]
        total += ran
        bad += len(wrong)
        for line in wrong:
            print("%s: %s" % (document, line))
    for name in set(LONG) - long if args.few and not args.documents else ():
        bad += 1
        print("%s: no document shows it" % name)
    print("%d commands, %d wrong; what is shown otherwise: tests/documents.py PROGRAM SOURCE --update" % (total, bad))
    sys.exit(1 if bad or not total else 0)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launch scripts and configurations as they are published, unchanged, with all that lies around them in their repositories.

    python3 tests/published.py PROGRAM [--from FOLDER] [--only TEXT]

FOLDER, or what STEPSIM_REPOSITORIES in the environment names, has the repositories of tests/published.csv as clones, bare or not, at OWNER/NAME, OWNER+NAME, NAME or one of these with /repo or
.git behind it; `git -C FOLDER clone --bare https://github.com/OWNER/NAME OWNER+NAME` makes one. Nothing of them is kept here. A row of the list:

    repository, commit, path    the file, as it is there; large and binary files are left out of its surroundings
    from                        the folder of the repository in which the user is
    words                       what the user says beside it, behind "--" the arguments of a script
    expected                    answered, or a part of the reason for which it is refused

A row with --drop-unknown must be refused without it, in one message that names each flag that is dropped.
Each row is run once; the table tells what came of it. Exit: 0 all as expected, 1 not, 77 where no repository of the list is in FOLDER.
"""
import argparse
import csv
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

LIST = pathlib.Path(__file__).with_suffix(".csv")
LARGEST = 1 << 18  # bytes of a file beside the script
SCRIPTS = (".yaml", ".yml", ".json", ".toml", ".args")  # read by --job; everything else is run


def git(folder, *words, **more):
    return subprocess.run(["git", f"--git-dir={folder}", *words], capture_output=True, check=True, **more).stdout


def find_repository(folder, name):
    """The Git folder of the repository, or None."""
    for form in (name, name.replace("/", "+"), name.split("/")[1]):
        for end in ("", "/repo", "/.git", "/repo/.git", ".git"):
            path = pathlib.Path(folder, form + end)
            if (path / "objects").is_dir():
                return path
    return None


def check_out(repository, commit, into):
    """Writes the files of a commit that are there and not large; a folder .git says where the repository begins."""
    entries = [e.split("\t", 1) for e in git(repository, "ls-tree", "-r", "-z", commit, text=True).split("\0") if e]
    blobs = [(head.split()[2], path) for head, path in entries if head.split()[1] == "blob"]
    sizes = git(repository, "cat-file", "--batch-check=%(objectsize)", text=True, input="\n".join(b for b, _ in blobs)).splitlines()
    wanted = [path for (_, path), size in zip(blobs, sizes) if size.isdigit() and int(size) < LARGEST]
    environment = dict(os.environ, GIT_INDEX_FILE=str(into) + ".index")
    git(repository, "read-tree", commit, env=environment)
    git(repository, "checkout-index", "-f", "-z", "--stdin", f"--prefix={into}/", env=environment, text=True, input="\0".join(wanted))
    os.remove(str(into) + ".index")
    (into / ".git").mkdir(exist_ok=True)


def run(program, folder, row, words):
    """The answer as JSON."""
    before, _, arguments = words.partition(" -- ")
    work = folder / row["from"]
    kind = "--job" if row["path"].endswith(SCRIPTS) else "--launch"
    command = [program, "run", "--json", "--level", "chunk", *shlex.split(before), kind, os.path.relpath(folder / row["path"], work)]
    if arguments:
        command += ["--", *shlex.split(arguments)]
    got = subprocess.run(command, cwd=work, capture_output=True, text=True)
    try:
        return json.loads(got.stdout)
    except ValueError:
        return {"error": {"message": got.stderr.strip() or f"exit {got.returncode}", "hint": ""}}


def text_of(answer):
    return answer["error"]["message"] + ": " + (answer["error"].get("hint") or "") if "error" in answer else ""


def told(answer):
    if "error" in answer:
        return "refused: " + text_of(answer)
    return f"{answer['iteration_ms']:.1f} ms on {answer['gpus']} GPUs, {answer['verdict']}"


def check(program, folder, row):
    """What came of a row, and what is wrong with that, or ""."""
    answer = run(program, folder, row, row["words"])
    wrong = ""
    if row["expected"] == "answered":
        wrong = "refused" if "error" in answer else ""
    elif "error" not in answer:
        wrong = "answered"
    elif row["expected"] not in text_of(answer):
        wrong = "refused for another reason"
    if not wrong and "--drop-unknown" in row["words"].split():
        plain = run(program, folder, row, row["words"].replace("--drop-unknown", ""))
        dropped = [d["flag"] if isinstance(d, dict) else d for d in answer.get("dropped", [])]
        missed = [flag for flag in dropped if not re.search(re.escape(flag) + r"(?![\w-])", text_of(plain))]
        if not dropped and "error" not in answer:
            wrong = "nothing is dropped: take --drop-unknown out"
        elif missed:
            wrong = "not named without --drop-unknown: " + " ".join(missed)
    return told(answer), wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--from", dest="folder", default=os.environ.get("STEPSIM_REPOSITORIES"), metavar="FOLDER")
    parser.add_argument("--only", default="", help="rows whose repository or path has this text")
    options = parser.parse_args()
    if not options.folder:
        print("skipped: no --from FOLDER and no STEPSIM_REPOSITORIES names clones of the repositories of tests/published.csv")
        return 77
    with open(LIST, encoding="utf-8", newline="") as f:
        rows = [r for r in csv.DictReader(f) if options.only in r["repository"] + "/" + r["path"]]
    answered = refused = wrong = missing = 0
    with tempfile.TemporaryDirectory() as away:
        os.chmod(away, 0o755)
        for row in rows:
            repository = find_repository(options.folder, row["repository"])
            folder = pathlib.Path(away, row["repository"].replace("/", "+") + "@" + row["commit"][:10])
            if not repository:
                missing += 1
                print(f"-      {row['repository']}/{row['path']}: the repository is not in {options.folder}")
                continue
            if not folder.exists():
                try:
                    check_out(repository, row["commit"], folder)
                except subprocess.CalledProcessError:
                    missing += 1
                    print(f"-      {row['repository']}/{row['path']}: the clone has no commit {row['commit'][:10]}")
                    continue
            said, why = check(options.program, folder, row)
            answered += said[:7] != "refused"
            refused += said[:7] == "refused"
            wrong += bool(why)
            print(f"{'WRONG ' if why else 'ok    '} {row['repository']}/{row['path']}: {said[:300]}{' -- ' + why if why else ''}", flush=True)
    print(f"{len(rows)} rows: {answered} answered, {refused} refused, {missing} not there; {wrong} not as expected")
    return 77 if missing == len(rows) else int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

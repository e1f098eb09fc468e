# SPDX-License-Identifier: Apache-2.0
"""Which test reaches which line: each test of a coverage build run with counts of its own, read by gcov.

Kept as JSON: {"known": {file: lines that have counts}, "functions": {file: [[first line, last line], ...]},
"tests": {test: {file: lines that it ran}}}.
"""
import json
import os
import shutil
import subprocess
import tempfile


def counts_of(build, root, folder):
    """What gcov says of the counts below a folder, which mirrors the build's; one object a file."""
    held = []
    for at, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".gcda"):
                path = os.path.join(at, name)
                notes = os.path.join("/", os.path.relpath(path, folder))[:-5] + ".gcno"
                if "/sim/" in os.path.relpath(notes, build) and os.path.exists(notes):
                    os.symlink(notes, path[:-5] + ".gcno")
                    held.append(path)
    for i in range(0, len(held), 100):
        words = ["gcov", "--json-format", "--stdout"] + held[i:i + 100]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, check=False)
        for text in done.stdout.splitlines():
            if text.startswith(b"{"):
                for file in json.loads(text)["files"]:
                    name = os.path.relpath(os.path.join(root, file["file"]), root)
                    if name.startswith("sim/") and name.endswith(".c"):
                        yield name, file


class Reach:
    def __init__(self, path):
        self.path = path
        self.held = {"known": {}, "functions": {}, "tests": {}}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.held = json.load(file)

    def has(self, test):
        return test in self.held["tests"]

    def measure(self, test, run, build, root, work):
        """run: a function of the environment's additions, that runs the test of the coverage build."""
        folder = tempfile.mkdtemp(prefix="counts-", dir=work)
        run({"GCOV_PREFIX": folder})
        ran = {}
        for name, file in counts_of(build, root, folder):
            known = self.held["known"].setdefault(name, [])
            known += sorted({line["line_number"] for line in file["lines"]} - set(known))
            self.held["functions"].setdefault(name, [[f["start_line"], f["end_line"]] for f in file["functions"]])
            lines = {line["line_number"] for line in file["lines"] if line["count"]}
            if lines:
                ran[name] = sorted(lines.union(ran.get(name, [])))
        self.held["tests"][test] = ran
        shutil.rmtree(folder, ignore_errors=True)
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.held, file)
        os.replace(self.path + ".new", self.path)

    def tests_of(self, name, line):
        """Those that run the line; where it has no count of its own, those that run its function."""
        wanted = {line}
        if line not in self.held["known"].get(name, []):
            wanted = {i for first, last in self.held["functions"].get(name, []) if first <= line <= last
                      for i in range(first, last + 1)}
        return {test for test, files in self.held["tests"].items() if wanted.intersection(files.get(name, ()))}

# SPDX-License-Identifier: Apache-2.0
"""The checks of generated jobs find what they are for: a program with one wrong answer is told by the right check.

Usage: self.py STEPSIM LAWS_PROGRAMS
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [HERE]

import laws  # noqa: E402

STEPSIM = TOOL = ""
# A job of four GPUs on a platform of its own that takes every check used here.
JOB = "57"
SLOWER = 'set -- "$@" --straggler 0:3'


# Two ranks that work twice for 1 s and then send 1 GB over one link of 1 GB/s: together they take 2 s for it. Where the first work of
# one takes 2 s their transfers take turns: (1 + 2) + (1 + 2) = 6 s, or 2 + 1 + 1 + 1 = 5 s.
MEET = """program meet version 1
link shared bandwidth 1GBps
path over shared
mix half compute 0.5 other 0.5
collective from-a {
    members a
    phase
        flow over 1GB
}
collective from-b {
    members b
    phase
        flow over 1GB
}
collective norm name "gradient norm" {
    members a b
}
class a {
    compute 1s
    post from-a
    wait
    compute 1s
    post from-a
    wait
    post norm
    wait
}
class b {
    compute FIRST
    post from-b
    wait
    compute 1s
    post from-b
    wait
    post norm
    wait
}
"""


class Fake:
    """A job of which the program says what `times` does of its words: (ms, MiB, ms with nothing shared)."""

    def __init__(self, words, times):
        self.words, self.times, self.index = words, times, 1
        self.job = type("Job", (), {"files": {}, "words": words})

    def run(self, words=None, more=()):
        ms, mib, _ = self.times(words or self.words)
        return {"iteration_ms": ms, "memory": {"peak_mib": mib}, "level": "chunk"}

    def alone(self, words):
        return self.times(words)[2] / 1e3


def wrapper(folder, name, lines, program):
    """A program that answers as `program` does, but for what the lines of shell change."""
    path = os.path.join(folder, "build", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\n%s\n' % lines.replace("PROGRAM", program))
    os.chmod(path, 0o755)
    return path


def when(pattern, change):
    return 'case " $* " in %s) %s;; esac\nexec "PROGRAM" "$@"' % (pattern, change)


class Self(unittest.TestCase):
    def check(self, part, lines="", tool_lines=""):
        """What run.py says of the job on a program and a tool that are changed so."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("platforms", "workloads"):
                os.symlink(os.path.join(os.path.dirname(os.path.dirname(HERE)), name), os.path.join(folder, name))
            program = wrapper(folder, "stepsim", lines, STEPSIM) if lines else STEPSIM
            tool = wrapper(folder, "tool", tool_lines, TOOL) if tool_lines else TOOL
            done = subprocess.run([sys.executable, os.path.join(HERE, "run.py"), program, "--tool", tool, "--part", part,
                                   "--only", JOB], capture_output=True, text=True)
        return done.returncode, {line.split(": ")[1] for line in done.stdout.splitlines() if line.startswith("job ")}

    def expect(self, part, names, lines="", tool_lines=""):
        self.assertEqual(self.check(part, lines, tool_lines), (1, set(names)))

    def test_nothing(self):
        self.assertEqual(self.check("agree"), (0, set()))
        self.assertEqual(self.check("laws"), (0, set()))

    def test_folding(self):
        found = self.check("agree", when('*" --unfold "*', SLOWER))[1]
        self.assertLessEqual({"folding, chunk", "folding, flow", "own level = flow of all ranks"}, found)

    def test_engines(self):
        self.expect("agree", {"engines, " + level for level in ("chunk", "layer", "flow")},
                    tool_lines='"PROGRAM" "$@" | sed \'s/"simgrid": /"simgrid": 1/\'')

    def test_reference(self):
        self.expect("agree", {"reference, " + level for level in ("chunk", "layer", "flow")},
                    tool_lines='"PROGRAM" "$@" | sed \'s/"native_off": [^,]*,/"native_off": 2e-9,/\'')

    def test_levels(self):
        self.expect("agree", {"layer = flow"}, when('"program write "*"--level layer "*', SLOWER).replace('" $* "', '"$* "'))

    def test_inputs(self):
        self.expect("agree", {"inputs"}, when('*"--job result.json "*', SLOWER))

    def test_workers(self):
        self.expect("agree", {"workers, run"}, when('*"--workers 2 "*', SLOWER))

    def test_text_form(self):
        self.expect("agree", {"text form, templates"}, when('*"-o "*"short.prog "*', SLOWER))

    def test_faster(self):
        self.expect("laws", {"faster cores are never slower"}, when('*"--scale peak=1.25x "*', SLOWER))

    def test_units(self):
        self.expect("laws", {"platform in other units"}, when(
            '*"units.xml "*', "sed -i s/2400Gbps/2401Gbps/ units.xml"))

    def test_names(self):
        self.expect("laws", {"hosts and links by other names"}, when(
            '*"names.xml "*', "sed -i s/300GBps/290GBps/ names.xml"))

    def verdict(self, less, more):
        """What is said of a law by which the words "less" never take longer than "more"."""
        return laws.never_less(Fake([], lambda words: {"less": less, "more": more}[words[0]]), "law", ["less"], ["more"])[1]

    def test_verdicts(self):
        self.assertEqual(self.verdict((4, 1, 3), (4, 1, 3)), "agrees")
        self.assertEqual(self.verdict((5, 1, 3), (4, 1, 3.5)), "bounded")
        self.assertEqual(self.verdict((5, 1, 4.5), (4, 1, 4.5)), "differs")  # faster than what shares nothing
        self.assertEqual(self.verdict((5, 1, 3), (4, 1, 2)), "differs")      # which itself breaks the law
        self.assertEqual(self.verdict((4, 1, 4), (3, 1, 4)), "differs")      # nothing is shared

    def test_offload(self):
        """Full recompute leaves nothing to copy to the host, so it is held against the job without these copies."""
        def times(words):
            return (2, 5, 2) if "full" in words else (9, 3, 9) if "--cpu-offloading" in words else (1, 5, 1)
        words = ["--tp", "1", "--cpu-offloading", "--cpu-offloading-num-layers", "3"]
        self.assertEqual([v for _, v, _ in laws.recompute(Fake(words, times))], ["agrees", "agrees"])
        with_files = Fake(words, times)
        with_files.job.files = {"job.args": "--cpu-offloading"}
        self.assertEqual(list(laws.recompute(with_files)), [])

    def test_levels_differ(self):
        """Answers at two levels of themselves are held against each other as flows."""
        bench = Fake([], None)
        bench.run = lambda words=None, more=(): {"iteration_ms": 1, "level": "flow" if more or words == ["x"] else "chunk"}
        self.assertEqual([a["level"] for a in laws.both(Fake([], lambda w: (1, 1, 1)), ["x"])[:2]], ["chunk", "chunk"])
        bench.index = 0
        self.assertEqual([a["level"] for a in laws.both(bench, ["x"])[:2]], ["flow", "flow"])

    def test_nothing_shared(self):
        with tempfile.TemporaryDirectory() as folder:
            found = []
            for first in ("1s", "2s", "2s half"):
                path = os.path.join(folder, "meet.prog")
                with open(path, "w", encoding="utf-8") as f:
                    f.write(MEET.replace("FIRST", first))
                run = subprocess.run([STEPSIM, "program", "read", path, "--engine", "native", "--json"], capture_output=True, check=True)
                alone = subprocess.run([TOOL, "--alone", path], capture_output=True, check=True)
                found.append((json.loads(run.stdout)["iteration_ms"], json.loads(alone.stdout)["alone"]))
        self.assertEqual(found, [(6000, 4), (5000, 5), (5000, 4)])

    def test_work(self):
        self.expect("laws", {"recompute never takes less time", "recompute never takes more memory"}, when(
            '*"--recompute full "*', 'set -- "$@" --num-layers 4 --set ss.memory.context=9GB'))


if __name__ == "__main__":
    STEPSIM, TOOL = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1])

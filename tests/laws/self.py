# SPDX-License-Identifier: Apache-2.0
"""The checks of generated jobs find what they are for: a program with one wrong answer is told by the right check.

Usage: self.py STEPSIM LAWS_PROGRAMS
"""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
STEPSIM = TOOL = ""
# A job of four GPUs on a platform of its own that takes every check used here.
JOB = "57"
SLOWER = 'set -- "$@" --straggler 0:3'


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

    def test_work(self):
        self.expect("laws", {"recompute never takes less time", "recompute never takes more memory"}, when(
            '*"--recompute full "*', 'set -- "$@" --num-layers 4 --set ss.memory.context=9GB'))


if __name__ == "__main__":
    STEPSIM, TOOL = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1])

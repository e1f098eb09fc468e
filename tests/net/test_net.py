# SPDX-License-Identifier: Apache-2.0
"""The net catches what it is for. Usage: test_net.py STEPSIM"""
import os
import re
import stat
import subprocess
import sys
import tempfile
import unittest

import compare
import jobs
import net as nets

HERE = os.path.dirname(os.path.abspath(__file__))
STEPSIM = ""


def wrapper(folder, name, change):
    """A program that answers as STEPSIM does, but for a change that a shell makes to one answer."""
    path = os.path.join(folder, "build", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + change.replace("STEPSIM", STEPSIM) + '\nexec "%s" "$@"\n' % STEPSIM)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def net(new, *words):
    p = subprocess.run([sys.executable, os.path.join(HERE, "net.py"), STEPSIM, new, "--cache", "none"] + list(words),
                       capture_output=True, text=True)
    return p.returncode, p.stdout + p.stderr


class Net(unittest.TestCase):
    jobs = ["--jobs", "12", "--quick", "12"]

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_the_same_program_is_equal(self):
        status, text = net(STEPSIM, *self.jobs)
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"net: .*12 run, 12 expanded.* 0 differ")

    def test_a_digit_of_one_job_is_found(self):
        for platform in self.lone_platforms():
            status, text = self.digit_of(platform)
            if status:
                break
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"run differs \(job \d+\):\n  stepsim run .*\n    mfu\n      old 0\.\d+\n      new 0\.\d+[78]\n")
        self.assertIn(" 1 differ;", text)

    def lone_platforms(self):
        """Platforms that one of the jobs alone has."""
        names = nets.names_of(nets.Binary(STEPSIM, self.folder.name))
        drawn = [jobs.make("1", i, names).words for i in range(12)]
        used = [words[1] for words in drawn if words[0] == "--platform"]
        return [platform for platform in used if used.count(platform) == 1]

    def digit_of(self, platform):
        new = wrapper(self.folder.name, "digit-" + platform, r"""
case "$*" in
"run --platform %s "*--json) "STEPSIM" "$@" > "$0.$$"; status=$?
    sed '/"mfu":/{s/7,$/x,/;s/[0-9],$/7,/;s/x,$/8,/}' "$0.$$"; exit $status;;
esac""" % platform)
        return net(new, *self.jobs)

    def test_a_word_of_one_program_is_found(self):
        new = wrapper(self.folder.name, "word", """
case "$*" in
"program write "*--expanded) "STEPSIM" "$@" | sed 's/run /runs /'; exit;;
esac""")
        status, text = net(new, *self.jobs)
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"expanded differs \(job \d+\):")

    def test_a_crash_of_both_is_no_agreement(self):
        new = wrapper(self.folder.name, "crash", 'case "$*" in *--expanded) kill -SEGV $$;; esac')
        status, text = net(new, *self.jobs)
        self.assertEqual(status, 1, text)
        self.assertIn("killed or too slow", text)


class Jobs(unittest.TestCase):
    names = {"platforms": [{"name": "h100", "gpus": 8}], "stacks": ["a"], "schedules": ["1f1b", "gpipe"],
             "models": [{"name": "m", "layers": 32, "hidden": 4096, "heads": 32, "groups": 8}]}

    def test_a_job_is_the_same_each_time_and_differs_from_others(self):
        once = [jobs.make(1, i, self.names) for i in range(100)]
        again = [jobs.make(1, i, self.names) for i in reversed(range(100))][::-1]
        self.assertEqual([(j.words, j.sim, j.run, j.files) for j in once],
                         [(j.words, j.sim, j.run, j.files) for j in again])
        self.assertEqual(len({tuple(j.words + j.sim + j.run) for j in once}), 100)
        self.assertNotEqual(once[1].words, jobs.make(2, 1, self.names).words)


class Rules(unittest.TestCase):
    """Each operation of changes.py: it accepts its change, counts itself, and accepts no other."""

    def rows(self, rule, old, new, kind="run", words=(), exits=(0, 0)):
        results = [{"exit": e, "out": t, "err": ""} for e, t in zip(exits, (old, new))]
        used = [0]
        rows = compare.compare(kind, list(words), results[0], results[1], [rule], used)
        return rows, used[0]

    def accepts(self, rule, old, new, **more):
        rows, used = self.rows(rule, old, new, **more)
        self.assertEqual(rows, [])
        self.assertEqual(used, 1)

    def rejects(self, rule, old, new, **more):
        self.assertNotEqual(self.rows(rule, old, new, **more)[0], [])

    def test_add(self):
        rule = {"op": "add", "path": "a.*.c", "check": lambda v, whole: v == "3"}
        self.accepts(rule, '{"a": [{"b": 1}]}', '{"a": [{"b": 1, "c": 3}]}')
        self.rejects(rule, '{"a": [{"b": 1}]}', '{"a": [{"b": 1, "c": 4}]}')
        self.rejects(rule, '{"a": [{"b": 1}]}', '{"a": [{"b": 2, "c": 3}]}')

    def test_remove(self):
        rule = {"op": "remove", "path": "a.[x.y]"}
        self.accepts(rule, '{"a": {"b": 1, "x.y": 2}}', '{"a": {"b": 1}}')
        self.rejects(rule, '{"a": {"b": 1, "x.y": 2}}', '{"a": {"b": 1, "x.y": 3}}')

    def test_rename_and_move(self):
        self.accepts({"op": "rename", "path": "a", "to": "z"}, '{"a": 1, "b": 2}', '{"z": 1, "b": 2}')
        self.rejects({"op": "rename", "path": "a", "to": "z"}, '{"a": 1, "b": 2}', '{"z": 7, "b": 2}')
        self.accepts({"op": "move", "path": "a", "to": "b.a"}, '{"a": 1, "b": {}}', '{"b": {"a": 1}}')
        self.rejects({"op": "move", "path": "a", "to": "b.a"}, '{"a": 1, "b": {}}', '{"b": {"a": 2}}')

    def test_moved(self):
        rule = {"op": "moved", "words": ("v100",), "check": lambda old, new: float(new["ms"]) >= float(old["ms"])}
        for words in (("--platform", "v100"), ("--platform=v100",), ('<prop id="ss.base" value="v100"/>',)):
            self.accepts(rule, '{"ms": 1, "b": 2}', '{"ms": 2, "b": 3}', words=words)
        self.accepts(rule, "sha256 1", "sha256 2", kind="expanded", words=("v100",))
        self.rejects(rule, '{"ms": 2}', '{"ms": 1}', words=("v100",))
        self.rejects(rule, '{"ms": 1}', '{"ms": 2}', words=("v100-32g",))
        self.rejects(rule, '{"ms": 1}', '{"ms": 2}', words=("v100",), exits=(0, 1))

    def test_order(self):
        self.accepts({"op": "order", "path": ""}, '{"a": 1, "b": 2}', '{"b": 2, "a": 1}')
        self.rejects({"op": "order", "path": "a"}, '{"a": {}, "b": 2}', '{"b": 2, "a": {}}')

    def test_value_and_ignore(self):
        self.accepts({"op": "value", "path": "v", "map": {"1": "2"}}, '{"v": 1}', '{"v": 2}')
        self.rejects({"op": "value", "path": "v", "map": {"1": "2"}}, '{"v": 1}', '{"v": "2"}')
        self.rejects({"op": "value", "path": "v", "map": {"1": "2"}}, '{"v": 3}', '{"v": 2}')
        self.accepts({"op": "ignore", "path": "v"}, '{"v": "a"}', '{"v": "b"}')
        rule = {"op": "ignore", "path": "o.v", "check": lambda a, b, o: b.startswith(a) and o["w"] == "1"}
        self.accepts(rule, '{"o": {"v": "a", "w": 1}}', '{"o": {"v": "ab", "w": 1}}')
        self.rejects(rule, '{"o": {"v": "a", "w": 1}}', '{"o": {"v": "b", "w": 1}}')
        self.rejects(rule, '{"o": {"v": "a", "w": 2}}', '{"o": {"v": "ab", "w": 2}}')

    def test_jobs_of_a_rule(self):
        rule = {"op": "ignore", "path": "v", "words": ("--tp",), "without": ("--gbs",)}
        self.accepts(rule, '{"v": "a"}', '{"v": "b"}', words=("--tp=2", "--pp", "2"))
        self.rejects(rule, '{"v": "a"}', '{"v": "b"}', words=("--pp", "2"))
        self.rejects(rule, '{"v": "a"}', '{"v": "b"}', words=("--tp", "2", "--gbs=3"))
        rule = {"op": "ignore", "path": "v", "words": ("mine",), "beside": ("--vp", "--pp")}
        self.accepts(rule, '{"v": "a"}', '{"v": "b"}', words=("--stack", '"mine"', "--pp", "2"))
        self.rejects(rule, '{"v": "a"}', '{"v": "b"}', words=("--stack", "mine"))
        self.rejects(rule, '{"v": "a"}', '{"v": "b"}', words=("--stack", "ours", "--vp", "2"))

    def test_text(self):
        rule = {"op": "text", "old": "colour", "new": "color"}
        self.accepts(rule, '{"v": "a colour"}', '{"v": "a color"}')
        self.accepts(rule, "colour\n", "color\n", kind="program")
        self.rejects(rule, "colour 1\n", "color 2\n", kind="program")

    def test_output_and_status(self):
        rule = {"op": "output", "old": "too few", "new": "", "whole": True}
        old, new = ({"out": out, "err": err, "exit": status} for out, err, status in (("", "too few\n", 3), ("3\n", "", 0)))
        self.assertEqual(compare.compare("run", (), old, new, [rule], [0]), [])
        self.assertNotEqual(compare.compare("run", (), old, new, [dict(rule, old="too many")], [0]), [])
        self.assertNotEqual(compare.compare("run", (), old, new, [dict(rule, whole=False)], [0]), [])

    def test_output(self):
        rule = {"op": "output", "old": r"\A--", "new": r'\A\{"rows"'}
        self.accepts(rule, "--nodes\n", '{"rows": []}')
        self.rejects(rule, "--nodes\n", '{"cols": []}')
        self.rejects(rule, "nodes\n", '{"rows": []}')

    def test_exit_and_refused(self):
        rule = {"op": "exit", "map": {1: 0}, "path": "o", "value": "near"}
        self.accepts(rule, '{"o": "near"}', '{"o": "near"}', exits=(1, 0))
        self.rejects(rule, '{"o": "far"}', '{"o": "far"}', exits=(1, 0))
        rule = {"op": "refused", "words": ["--x"], "hint": "no --x"}
        self.accepts(rule, "{}", '{"error": {"hint": "no --x"}}', words=["run", "--x"], exits=(0, 2))
        self.rejects(rule, "{}", '{"error": {"hint": "no --x"}}', words=["run"], exits=(0, 2))

    def test_numbers_are_text_layout_counts_and_expanded_has_no_rules(self):
        none = {"op": "remove", "path": "nothing"}
        self.rejects(none, '{"v": 1.0}', '{"v": 1.00}')
        self.rejects(none, '{"v": 1}', '{"v": "1"}')
        self.rejects(none, '{\n  "v": 1\n}\n', '{"v": 1}\n')
        self.rejects({"op": "text", "old": "a", "new": "b"}, "sha256 a\n", "sha256 b\n", kind="expanded")


if __name__ == "__main__":
    STEPSIM = os.path.abspath(sys.argv.pop(1))
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""run.py passes what is as expected, fails on each kind of difference, and rewrites when asked. Usage: self.py"""
import contextlib
import io
import os
import sys
import tempfile
import unittest

sys.path[1:1] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]

import close  # noqa: E402
import places  # noqa: E402
import run  # noqa: E402

PROGRAM = '#!/bin/sh\necho "out $1"\necho "err $1" >&2\nexit 3\n'
# What a prediction looks like: a table, a unit in the text, names and sizes that are none.
TABLE = "model qwen2.5-0.5b on 16 GPUs\n   tp      time\n    1    12.5 ms\n    2   112.5 ms\n(took 3 s, 40 %)\n"


class Self(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.group = os.path.join(self.root, "tests", "cli", "g")
        os.makedirs(self.group)
        self.program = self.write(os.path.join(self.root, "program"), PROGRAM)
        os.chmod(self.program, 0o755)
        self.write(self.path("a.cmd"), '[ -z "$(ls -A)" ] && "$STEPSIM" "$SRC/x"\n')

    def path(self, name):
        return os.path.join(self.group, name)

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    @staticmethod
    def read(path):
        with open(path, encoding="utf-8") as f:
            return f.read()

    def table(self):
        return self.read(os.path.join(self.root, "tests", "cli", "figures.tsv"))

    def run_it(self, update=None, groups=("g",)):
        """Exit status and what was said."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = run.Runner(self.program, self.root, None, update).run_groups(groups)
        return status, said.getvalue()

    def test_differences(self):
        self.assertEqual(self.run_it()[0], 1, "nothing expected yet")
        self.run_it("1")
        self.assertEqual([self.read(self.path("a." + w)) for w in ("out", "err", "exit")], ["out SRC/x\n", "err SRC/x\n", "3\n"])
        self.assertEqual(self.run_it()[0], 0, "as written by UPDATE=1")
        for what in ("out", "err", "exit"):
            kept = self.read(self.path("a." + what))
            for text in ("9\n", kept.rstrip("\n"), kept + "\n"):
                self.write(self.path("a." + what), text)
                status, said = self.run_it()
                self.assertEqual(status, 1, "another " + what)
                self.assertIn("%s: %s differs" % (self.path("a.cmd"), what), said)
            os.remove(self.path("a." + what))
            self.assertEqual(self.run_it()[0], 1, "no file " + what)
            self.write(self.path("a." + what), kept)
        self.assertEqual(self.run_it()[0], 0, "all put back")
        self.assertEqual(self.run_it(groups=("g", "none"))[0], 0, "another group without commands")
        os.remove(self.path("a.cmd"))
        self.assertEqual(self.run_it()[0], 1, "no command at all")

    def prints(self, text):
        self.write(self.path("a.cmd"), "cat << 'END'\n%sEND\n" % text)

    def test_figures(self):
        self.prints(TABLE)
        self.run_it("1")
        self.assertEqual(self.read(self.path("a.out")), TABLE.replace("    12.5 ", " {#7} ").replace("   112.5 ", " {#7} ").replace(
            "3 s, 40", "{#} s, {#}"))
        self.assertEqual(self.table(), "file\tline\tnumbers\ng/a.out\t3\t12.5\ng/a.out\t4\t112.5\ng/a.out\t5\t3 40\n")
        self.assertEqual(self.run_it()[0], 0)
        for old, new in (("12.5 ms\n    2", "12.6 ms\n    2"), ("   12.5", "  12.5"), ("40", "41"), ("3 s", "3.0 s"), ("40 %", "40 %\n")):
            self.prints(TABLE.replace(old, new))
            self.assertEqual(self.run_it()[0], 1, "%s for %s" % (new, old))
        self.assertIn("- (took 3 s, 40 %)", self.run_it()[1].replace("\n-", "\n- "))

    def test_update_of_figures(self):
        self.prints(TABLE)
        self.run_it("1")
        words = self.read(self.path("a.out"))
        moved = TABLE.replace("   12.5", " 1012.5").replace("40", "7")
        self.prints(moved)
        self.assertEqual(self.run_it("figures")[0], 0)
        self.assertEqual(self.read(self.path("a.out")), words)
        self.assertIn("g/a.out\t3\t1012.5\n", self.table())
        self.assertEqual(self.run_it()[0], 0)
        table = self.table()
        for other in (moved.replace("took", "takes"), moved.replace("on 16", "on 17"), moved + "more\n"):
            self.prints(other)
            self.assertEqual(self.run_it("figures")[0], 1)
        self.assertEqual(self.table(), table)

    def test_update_of_words(self):
        """Places stay where words do, and a number that moves becomes one."""
        self.prints(TABLE)
        self.run_it("1")
        self.prints(TABLE.replace("on 16", "on 24").replace("40 %", "50 %") + "as in 2.5 of version 3\n")
        self.run_it("1")
        self.assertEqual(self.read(self.path("a.out")).split("\n")[0], "model qwen2.5-0.5b on {#} GPUs")
        self.assertEqual(self.read(self.path("a.out")).split("\n")[-2], "as in {#} of version 3")
        self.assertEqual(self.run_it()[0], 0)

    def test_rows_without_a_place(self):
        """A number too many, one too few, a line or a case that is gone."""
        self.prints(TABLE)
        self.run_it("1")
        path = os.path.join(self.root, "tests", "cli", "figures.tsv")
        table = self.table()
        for wrong in (table.replace("3 40", "3 40 1"), table.replace("3 40", "3"), table + "g/a.out\t9\t1\n", table + "g/b.out\t1\t1\n"):
            self.write(path, wrong)
            status, said = self.run_it()
            self.assertEqual((status, "figures.tsv has" in said), (1, True), wrong)
        self.run_it("figures")
        self.assertEqual(self.table(), table)

    def test_plain_words(self):
        self.assertEqual(run.plain_words('"$STEPSIM" a "b c" \'d "e"\' --f=2 "$SRC/g h" --i="j"\n', "/s"),
                         ["a", "b c", 'd "e"', "--f=2", "/s/g h", "--i=j"])
        for shell in ('"$STEPSIM" a | b', '"$STEPSIM" a > b', "A=1 \"$STEPSIM\" a", '"$STEPSIM" "$A"', '"$STEPSIM" *', '"$STEPSIM" a; b', "echo a",
                      '"$STEPSIM" a\n"$STEPSIM" b', '"$STEPSIM" ~/a', '"$STEPSIM" $(a)', '"$STEPSIM" a &', '"$STEPSIM" a # b', '"$STEPSIM" "\\""'):
            self.assertIsNone(run.plain_words(shell, "/s"), shell)

    def test_numbers(self):
        self.assertEqual(places.NUMBER.findall("8b-16 zb-h1 qwen2.5 x2 -3 +-4.5 1e-9s 1,024 (-2) 5-6 v1.2"),
                         ["8", "16", "-3", "4.5", "1e-9", "1,024", "-2", "5", "6"])
        line = "llama3.1-8b-0.5 -2.5 (3 %) 4k 5.5ms 6 GiB 7.5x 8 tokens/s 9"
        self.assertEqual([n[0] for i, n in enumerate(places.NUMBER.finditer(line)) if places.looks_predicted(line)(i, n)],
                         ["-2.5", "3", "5.5", "6", "8"])


class Close(unittest.TestCase):
    """Figures of documents."""

    def test_lines(self):
        for shown, printed, same in (
                ("took 100.0 s", "took 100.9 s", True), ("took 100.0 s", "took 101.2 s", False), ("took 100.0 s", "takes 100.0 s", False),
                ("0.3 %", "0.4 %", True), ("0.3 %", "0.5 %", False), ("33 %", "34 %", True), ("33 %", "35 %", False), ("-0.0 ms", "+0.1 ms", True),
                ("8 nodes", "9 nodes", False), ("46114", "46200", True), ("46114", "46600", False), ("1,024 GPUs", "1,025 GPUs", True),
                ("a   9.99 s  b", "a  10.02 s  b", True), ("5e-9", "6e-9", True), ("5.0e-9", "5.2e-9", False), ("fits", "near limit", False),
                ("llama3.1-8b", "llama3.2-8b", False), ("tp 2", "tp 4", False)):
            self.assertEqual(close.alike(shown, printed, False), same, (shown, printed))
            self.assertEqual(close.alike(shown, printed, True), False)
            self.assertTrue(close.alike(shown, shown, True))

    def test_texts(self):
        shown = ["a 1.0", "b", "c 2.0"]
        self.assertEqual(close.differences(shown, ["a 1.0", "b", "c 2.01"], False), [])
        self.assertEqual(close.differences(shown, ["a 1.0", "b", "c 2.01"], True), [(3, "c 2.0", "c 2.01")])
        self.assertEqual(close.differences(shown, ["a 1.0", "c 2.0"], False), [(2, "b", "")])
        self.assertEqual(close.differences(shown, shown + ["d"], False), [(4, "", "d")])
        self.assertEqual(close.differences(shown, ["a 9.0", "b", "c 2.0"], False), [(1, "a 1.0", "a 9.0")])


if __name__ == "__main__":
    sys.exit(unittest.main())

# SPDX-License-Identifier: Apache-2.0
"""Commands in one process answer as processes do, whatever ran before, and what goes wrong is told of the command that did it.

Usage: self.py STEPSIM DRIVER SOURCE
"""
import glob
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(os.path.dirname(HERE), "cli")]

import driver  # noqa: E402
import run  # noqa: E402

STEPSIM = DRIVER = SOURCE = ""
# By processes, one in so many of the commands.
SAMPLE = 4
JOB = "--platform h800 --nodes 1 --model qwen2.5-0.5b --bf16 --seq 1024 --mbs 1 --gbs 8".split()
EXTRA = [(["version"], {}), (["help", "run"], {"COLUMNS": "60"}), (["list", "models"], {"STEPSIM_DATA": "/nonexistent"}), (["nosuch"], {}), ([], {}),
         (["run", *JOB, "--engine", "simgrid"], {}), (["run", *JOB, "--json", "--tp", "3"], {}), (["sweep", *JOB, "--vary", "tp=1,2", "--workers", "2"], {}),
         (["run", *JOB, "-o", "out.txt"], {}), (["run", *JOB, "--report", "out.html", "--timing", "--level", "nosuch"], {})]
IN_USE = {"STEPSIM_DATA": None, "COLUMNS": None, "LC_ALL": "C"}


def commands():
    """(words, settings): the lines of tests/cli that are one command."""
    found = list(EXTRA)
    for path in sorted(glob.glob(os.path.join(SOURCE, "tests", "cli", "*", "*.cmd"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        words = None if run.NEEDS_PROCESS.search(text) else run.plain_words(text, SOURCE)
        if words is not None:
            found.append((words, {}))
    return found


def answers(program, asked):
    """(status, stdout, stderr, files) of each."""
    found = []
    for words, settings in asked:
        with tempfile.TemporaryDirectory() as folder:
            done = program.run(words, cwd=folder, env=dict(IN_USE, **settings))
            files = {}
            for name in sorted(os.listdir(folder)):
                with open(os.path.join(folder, name), "rb") as f:
                    files[name] = f.read()
        found.append((done.returncode, done.stdout, done.stderr.replace(folder.encode(), b"FOLDER"), files))
    return found


class State(unittest.TestCase):
    """Nothing of a command is left for the next."""

    def test_any_order(self):
        asked = commands()
        self.assertGreater(len(asked), 80)
        one, other = driver.InProcess(DRIVER), driver.InProcess(DRIVER)
        there, back = answers(one, asked), answers(other, asked[::-1])[::-1]
        one.close()
        other.close()
        for command, a, b in zip(asked, there, back):
            self.assertEqual(a, b, command)
        processes = answers(driver.Processes(STEPSIM), asked[::SAMPLE])
        for command, a, b in zip(asked[::SAMPLE], there[::SAMPLE], processes):
            self.assertEqual(a, b, command)

    def test_streams(self):
        """stdin and the words before do not stay."""
        one = driver.InProcess(DRIVER)
        program = one.run(["program", "write", *JOB], check=True).stdout
        for words in (["program", "check", "-"], ["program", "read", "-"]):
            self.assertEqual(one.run(words, input=program).returncode, 0)
            done = one.run(words)
            self.assertEqual((done.returncode, done.stdout), (3, b""), done.stderr)
            self.assertIn(b"stdin", done.stderr)
        one.close()


class Faults(unittest.TestCase):
    def setUp(self):
        self.one = driver.InProcess(DRIVER)
        self.addCleanup(self.one.close)

    def goes_on(self):
        self.assertEqual(self.one.run(["version"]).returncode, 0)

    def test_death(self):
        self.assertEqual(self.one.run(["--misbehave", "abort"]).returncode, -6)
        self.goes_on()

    def test_hang(self):
        self.assertIn(self.one.run(["--misbehave", "hang"], seconds=0.1).returncode, driver.HANG)
        self.goes_on()

    def test_open_file(self):
        self.assertEqual(self.one.run(["--misbehave", "open"]).returncode, driver.OPEN)

    def test_leak(self):
        """Where LeakSanitizer is; it is told with the command, and not of the next one."""
        done = self.one.run(["--misbehave", "leak"])
        with open(DRIVER, "rb") as f:
            sanitized = b"__lsan_do_recoverable_leak_check" in f.read()
        self.assertEqual(done.returncode, driver.LEAKED if sanitized else 0)
        self.assertEqual(b"LeakSanitizer" in done.stderr, sanitized)
        if sanitized:
            self.one.forget()  # whose process would tell of it once more
        self.goes_on()

    def test_child(self):
        whole = self.one.run(["run", *JOB, "--engine", "native"])
        child = self.one.run(["run", *JOB, "--engine", "native"], fork=0)
        self.assertEqual((child.returncode, child.stdout, child.stderr), (0, whole.stdout, b""))
        self.assertEqual(self.one.run(["--misbehave", "abort"], fork=0).returncode, -6)
        if child.allocations:  # a sanitizer has an allocator of its own
            self.assertGreater(child.allocations, 100)
            first = self.one.run(["run", *JOB, "--engine", "native"], fork=1)
            self.assertEqual(first.returncode, 3, first.stderr)
        self.goes_on()

    def test_test_fails(self):
        """The C test that is not told what died tells the command itself."""
        done = subprocess.run([DRIVER.replace(driver.NAME, "test_refused"), "--misbehave"], capture_output=True)
        self.assertEqual(done.returncode, -6)
        self.assertIn(b"the driver ended in: stepsim --misbehave abort\n", done.stderr)


class Scripts(unittest.TestCase):
    """$STEPSIM in a shell, run by the driver."""

    def setUp(self):
        self.one = driver.InProcess(DRIVER)
        self.addCleanup(self.one.close)

    def sh(self, script, program="/nonexistent"):
        with tempfile.TemporaryDirectory() as folder:
            env = driver.environment(dict(self.one.for_scripts(program), STEPSIM_DATA=None))
            done = subprocess.run(["sh", "-c", script], cwd=folder, env=env, capture_output=True, stdin=subprocess.DEVNULL, text=True)
        return done.returncode, done.stdout, done.stderr

    def test_streams(self):
        version = self.one.run(["version"], text=True).stdout
        error = self.one.run(["nosuch"], text=True).stderr
        self.assertEqual(self.sh('"$STEPSIM" version'), (0, version, ""))
        self.assertEqual(self.sh('"$STEPSIM" nosuch; echo $?'), (0, "2\n", error))
        self.assertEqual(self.sh('"$STEPSIM" nosuch > out 2>&1; "$STEPSIM" version >> out; cat out'), (0, error + version, ""))
        self.assertEqual(self.sh('"$STEPSIM" version | cat; "$STEPSIM" nosuch 2>&1 | cat'), (0, version + error, ""))
        self.assertEqual(self.sh('"$STEPSIM" list models > /dev/null; "$STEPSIM" list models | head -n 1 > x; wc -l < x'), (0, "1\n", ""))

    def test_stdin(self):
        job = " ".join(JOB)
        self.assertEqual(self.sh('"$STEPSIM" program write %s | "$STEPSIM" program check -  > x; echo $?' % job)[:2], (0, "0\n"))
        self.assertEqual(self.sh('"$STEPSIM" program write %s -o p; "$STEPSIM" program check - < p > x; echo $?' % job)[:2], (0, "0\n"))
        self.assertEqual(self.sh('printf "1\\n2\\n" | while read n; do "$STEPSIM" nosuch 2> x; echo $n; done')[1], "1\n2\n")

    def test_environment_and_folder(self):
        self.assertEqual(self.sh('mkdir a; cd a; "$STEPSIM" platform show h800 -o x; ls; STEPSIM_DATA=/none "$STEPSIM" list models 2> y; echo $?')[1], "x\n3\n")

    def test_answer_over_itself(self):
        """The program knows the file that its stdout is."""
        status, out, _ = self.sh('"$STEPSIM" run %s --report r.html > r.html; echo $?' % " ".join(JOB))
        self.assertEqual((status, out), (0, "2\n"))

    def test_device(self):
        """What the driver cannot stand in for goes to the program."""
        self.assertEqual(self.sh('"$STEPSIM" version > /dev/full; echo $?', "/bin/echo")[1], "1\n")
        self.assertIn("cannot write to stdout", self.sh('"$STEPSIM" version > /dev/full', STEPSIM)[2])

    def test_death(self):
        """A command that ends the driver fails, and so does all behind it."""
        status, _, err = self.sh('"$STEPSIM" --misbehave abort && "$STEPSIM" version')
        self.assertEqual((status, "the driver ended in this command" in err), (125, True))
        self.assertEqual(self.one.forget()[0], -6)


if __name__ == "__main__":
    STEPSIM, DRIVER, SOURCE = (os.path.abspath(p) for p in sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])

# SPDX-License-Identifier: Apache-2.0
"""One generated job and what the program says of it, and its variants, for agree.py and laws.py."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "net")]

from net import Binary, without  # noqa: E402

LIMIT = 1e-9
# Answers in JSON have ten digits: two of them may differ by one unit of the last where the numbers differ by nothing.
PRINTED = 1.5e-9
LEVELS = ("chunk", "layer", "flow")
TIMEOUT_S = 3600


class Refused(Exception):
    """The program refuses a variant of the job."""


class Bench:
    """One job in a folder of its own, and the program. `tool` is laws_programs."""

    def __init__(self, program, tool, job, index, folder):
        self.binary, self.tool, self.job, self.index, self.folder = Binary(program, folder), tool, job, index, folder
        self.words = job.words + job.sim
        self.kept, self.written = {}, set()
        job.write(folder)

    def say(self, words, bad=(2, 3, 4)):
        """Bytes of stdout; Refused where the exit status is one of `bad`, which a crash is not."""
        done = self.binary.run(words)
        if done.returncode in bad:
            raise Refused((done.stderr or done.stdout).decode("utf-8", "replace").strip()[:200])
        if done.returncode not in (0, 1):
            raise RuntimeError("exit %d: stepsim %s" % (done.returncode, " ".join(words)))
        return done.stdout

    def run(self, words=None, more=(), engine="native"):
        """What `run --json` says of the job, or of these words."""
        line = ["run", "--json", "--engine", engine] + list(self.words if words is None else words) + list(more)
        key = "\0".join(line)
        if key not in self.kept:
            try:
                self.kept[key] = json.loads(self.say(line))
            except Refused as why:
                self.kept[key] = why
        if isinstance(self.kept[key], Refused):
            raise self.kept[key]
        if "iteration_ms" not in self.kept[key]:
            raise Refused(str(self.kept[key].get("error", {}).get("message", "no iteration"))[:200])
        return self.kept[key]

    def program(self, level, unfold):
        """The path of the job's program, every event of it."""
        path = os.path.join(self.folder, "%s-%s.prog" % (level, "all" if unfold else "folded"))
        if path not in self.written:
            self.written.add(path)
            self.say(["program", "write", "--expanded", "--level", level, "-o", path] + self.words + (["--unfold"] if unfold else []))
        return path

    def alone(self, words):
        """Seconds of an iteration of other words at flow level, were every transfer alone on its links and every
        kernel on its SMs, and no GPU waiting for its host."""
        path = os.path.join(self.folder, "alone.prog")
        self.say(["program", "write", "--expanded", "--unfold", "--level", "flow", "-o", path] + list(words))
        return self.tools(["--alone", path])[0]["alone"]

    def replays(self, most, paths):
        """What laws_programs says of the programs."""
        return self.tools([str(most)] + paths)

    def tools(self, words):
        """Objects that laws_programs prints, one a program."""
        done = subprocess.run([self.tool] + words, capture_output=True, text=True, timeout=TIMEOUT_S, env=self.binary.env, cwd=self.folder)
        lines = done.stdout.splitlines()
        if done.returncode or len(lines) != len(words) - 1:
            raise RuntimeError("laws_programs: exit %d: %s" % (done.returncode, (done.stderr or done.stdout)[:300]))
        return [json.loads(line) for line in lines]


def marked(answer):
    """What part of the iteration the order of equal events decides, by the program itself; 0 where it does not."""
    spread = answer.get("sensitivity") or {}
    return spread.get("relative", answer.get("sensitivity_pct", 0) / 100) if answer.get("sensitivity_pct") else 0


def apart(a, b):
    return abs(a - b) / max(abs(a), abs(b)) if a != b else 0.0


def has(words, *flags):
    return any(w in flags for w in words)


def value(words, flag, default=None):
    """Of the last word `flag` that has a value."""
    at = [i for i, w in enumerate(words[:-1]) if w == flag]
    return words[at[-1] + 1] if at else default


__all__ = ["Bench", "LEVELS", "LIMIT", "PRINTED", "Refused", "apart", "has", "marked", "value", "without"]

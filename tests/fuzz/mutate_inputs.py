#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: mutate_inputs.py PROGRAM [--source DIR] [--seed S] [--platforms N] [--others N] [--from I] [--count N] [--keep DIR]

Damages platforms and the other files that stepsim reads, gives each to the program or to the driver of tests/inproc, best a build with
AddressSanitizer, and looks at how it ends: a documented exit status, exactly one line of error where that is 2 or 3, and no signal, no word of a sanitizer, no more
than 10 s of processor time. Input i of a kind depends on the seed, the kind and i alone. Prints a table; --keep keeps the
inputs that broke a rule. Exit status 1: there were some.
--from and --count take a part of each kind, so that a long run goes in pieces.
"""
import argparse
import glob
import json
import os
import random
import re
import sys
import tempfile

sys.path[1:1] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "inproc")]

import driver  # noqa: E402

SMALL = ("--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512 --max-position-embeddings 512 --vocab-size 32000 "
         "--micro-batch-size 1 --global-batch-size 16").split()
JOB = ["--platform", "a100", "--nodes", "1", "--bf16"] + SMALL
TRACED = ("--platform h800 --nodes 1 --model llama3.1-8b --num-layers 8 --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 16 "
          "--sequence-parallel").split()
NATIVE = ["--engine", "native"]

# Of each kind: files that it begins with, the name that a damaged one gets, and the commands of which each input gets one; F is the file.
KINDS = {
    "platform": (["platforms/*.xml", "tests/fuzz/corpus/platform/*"], "p.xml",
                 [["platform", "show", "F"], ["platform", "show", "F", "--xml"], ["platform", "draw", "F"],
                  ["run", "--platform", "F", "--nodes", "1", "--fp16"] + SMALL + NATIVE,
                  ["run", "--platform", "F", "--nodes", "2", "--fp16", "--pp", "2"] + SMALL + NATIVE + ["--json"]]),
    "card": (["platforms/cards/*.xml"], "c.xml", [["platform", "new", "--card", "F", "--nodes", "2"]]),
    "job": (["workloads/jobs/[178]*.args", "tests/fuzz/corpus/job/*", "tests/fuzz/corpus/torchtitan/*", "tests/fuzz/corpus/foreign/*",
             "tests/fuzz/corpus/huggingface/*", "tests/import/[ahlnt]*/*.[ytj]*"], "j.args",
            [["plan", "--job", "F"], ["import", "F"], ["import", "F", "--json"],
             ["run", "--job", "F", "--gbs", "64", "--num-layers", "8"] + NATIVE]),
    "model": (["workloads/models/*.json", "tests/fuzz/corpus/model/*"], "m.json",
              [["plan", "--model", "F", "--platform", "h100", "--nodes", "2", "--bf16", "--seq", "512", "--mbs", "1", "--gbs", "64"],
               ["run", "--model", "F", "--num-layers", "4", "--platform", "h100", "--nodes", "1", "--bf16", "--seq", "512", "--mbs", "1",
                "--gbs", "16"] + NATIVE]),
    "stack": (["workloads/stacks/*.xml"], "s.xml", [["run"] + JOB + ["--tp", "2", "--stack", "F"] + NATIVE]),
    "schedule": (["tests/fuzz/corpus/schedule/*", "tests/golden/*.csv"], "o.csv",
                 [["schedule", "check", "F"], ["schedule", "show", "F"], ["schedule", "show", "F", "--json"],
                  ["run"] + JOB + ["--pp", "2", "--tp", "4", "--gbs", "2", "--schedule", "F"] + NATIVE]),
    "program": (["tests/fuzz/corpus/program/*"], "p.prog",
                [["program", "check", "F"], ["program", "read", "F", "--json"], ["program", "read", "F", "--gantt", "OUT", "--trace", "OUT2"]]),
    "table": (["validation/runs.csv", "validation/foreign.csv", "tests/fuzz/corpus/table/*"], "t.csv", [["validate", "F"]]),
    "microbench": (["validation/microbench.csv", "tests/fuzz/corpus/microbench/*"], "b.csv", [["calibrate", "--platform", "h800", "--microbench", "F"]]),
    "trace": (["tests/fuzz/corpus/kineto/*", "tests/fuzz/corpus/nsys/*"], "t.json",
              [["compare"] + TRACED + ["--kineto", "F"], ["compare"] + TRACED + ["--nsys", "F"]]),
    "placement": (["tests/fuzz/corpus/placement/*"], "placement",
                  [["run"] + JOB + ["--tp", "2", "--nodes", "2", "--placement", "F"] + NATIVE]),
    "lstopo": (["tests/unit/data/[lnt]*", "tests/fuzz/corpus/hwloc/*", "tests/fuzz/corpus/import/*"], "l.xml", [["platform", "import", "F"]]),
    "launch": (["tests/launch/*.sh"], "l.sh", [["import", "F"], ["import", "--launch", "F"]]),
}
ROWS = {"table": 3, "microbench": 30}  # of a table: each is a prediction, or a kernel to fit

NUMBERS = ["0", "-1", "1", "2", "3", "7", "1e9", "1e18", "1e300", "1e-300", "nan", "inf", "-inf", "0x10", "", "99999999999999999999",
           "2147483647", "2147483648", "9223372036854775807", "1GBps", "1us", "10GiB", "-5GBps", "1 2", "1,5", "\u0663", "true", "a" * 300]
MARKS = [b"\xef\xbb\xbf", b"\xff\xfe", b"\0", b"\x1b[31m", b"\xc3", b"\xe2\x80\xae", b"%s%n", b"<!DOCTYPE a [<!ENTITY b \"c\">]>", b"&b;", b"]]>",
         b"<", b"\"", b"'", b"{", b"[", b"#", b"\\", b"\r", b"\t", b"--", b"*"]


# ---- mutations: of text as bytes ----

def lines_changed(r, text, other):
    """A line goes, comes twice, moves, or comes from another file."""
    lines = text.split(b"\n")
    i = r.randrange(len(lines))
    what = r.randrange(4)
    if what == 0:
        del lines[i]
    elif what == 1:
        lines.insert(i, lines[i])
    elif what == 2:
        lines.insert(r.randrange(len(lines)), lines.pop(i))
    else:
        lines.insert(i, r.choice(other.split(b"\n")))
    return b"\n".join(lines)


def number_changed(r, text, other):
    found = list(re.finditer(rb"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", text))
    if not found:
        return text
    m = r.choice(found)
    old = float(m.group())
    new = r.choice([r.choice(NUMBERS), "%g" % (old * 2), "%g" % (old / 2), "%d" % (old + 1), "%d" % (old - 1), "%g" % (old * 1000)]
                   if old < 1e15 else NUMBERS)
    return text[:m.start()] + new.encode() + text[m.end():]


def quoted_changed(r, text, other):
    """The value of an attribute, or a text of JSON, becomes another one of these files or a number; or the attribute goes."""
    quoted = re.compile(rb"[A-Za-z_.:]+=\"[^\"]*\"|\"[^\"]*\"|[^,\s]+")
    found = list(quoted.finditer(text))
    if not found:
        return text
    m = r.choice(found)
    words = quoted.findall(other)
    name, _, value = m.group().rpartition(b"=")
    new = r.choice([b"", name + b"=\"" + r.choice(NUMBERS).encode() + b"\"" if name else b"\"" + r.choice(NUMBERS).encode() + b"\"",
                    r.choice(words) if words else b"", m.group() + b" " + m.group(), value])
    return text[:m.start()] + new + text[m.end():]


def bytes_changed(r, text, other):
    i, n = r.randrange(len(text) + 1), r.choice([1, 1, 2, 8, 64])
    what = r.randrange(4)
    if what == 0:
        return text[:i] + bytes(r.randrange(256) for _ in range(n)) + text[i + n:]
    if what == 1:
        return text[:i] + r.choice(MARKS) + text[i:]
    if what == 2:
        return text[:i] + text[i + n:]
    return text[:i] + text[i:i + n] * r.choice([2, 3, 100]) + text[i + n:]


def whole_changed(r, text, other):
    """Cut, in another code, with other ends of lines, or two files as one."""
    what = r.randrange(7)
    if what < 2:
        return text[:r.randrange(len(text) + 1)]
    if what == 2:
        return text.replace(b"\n", r.choice([b"\r\n", b"\r", b"", b" "]))
    if what == 3:
        return text.decode("utf-8", "replace").encode(r.choice(["utf-16", "utf-16-le", "utf-32", "utf-7"]))
    if what == 4:
        return r.choice(MARKS) + text
    if what == 5:
        return text + other
    return text[:r.randrange(len(text) + 1)] + other[r.randrange(len(other) + 1):]


CHANGES = [lines_changed, lines_changed, number_changed, number_changed, number_changed, quoted_changed, quoted_changed, quoted_changed,
           bytes_changed, whole_changed]


def few_rows(r, text, most):
    lines = text.split(b"\n")
    rows = [x for x in lines[1:] if x]
    return b"\n".join(lines[:1] + r.sample(rows, min(most, len(rows)))) + b"\n"


class Inputs:
    """Damaged inputs of one kind."""

    def __init__(self, source, kind, seed):
        patterns, self.name, self.commands = KINDS[kind]
        files = sorted(f for p in patterns for f in glob.glob(os.path.join(source, p)) if os.path.isfile(f))
        if not files:
            sys.exit(f"mutate_inputs.py: no files of kind {kind} under {source}")
        self.kind, self.seed, self.files = kind, seed, files

    def read(self, r):
        with open(r.choice(self.files), "rb") as f:
            text = f.read()
        return few_rows(r, text, ROWS[self.kind]) if self.kind in ROWS else text

    def make(self, i):
        """Returns the bytes and the words of the command, where F is the file."""
        r = random.Random(f"{self.seed}:{self.kind}:{i}")
        text, other = self.read(r), self.read(r)
        if i < 0:
            return text, self.commands[i % len(self.commands)]
        for _ in range(r.choice([1, 1, 1, 2, 4])):
            text = r.choice(CHANGES)(r, text, other)
        return text[:1 << 20], r.choice(self.commands)


# ---- the program ----

SANITIZER = re.compile(r"AddressSanitizer|LeakSanitizer|runtime error:|Assertion .* failed|terminate called")


SECONDS = 10  # of processor time


def is_error_object(text):
    try:
        return set(json.loads(text)["error"]) >= {"code", "message"}
    except (ValueError, KeyError, TypeError):
        return False


def broken_rule(status, out, err):
    """Which rule this end of the program breaks; None: none. out: the answer of --json, else None."""
    if SANITIZER.search(err):
        return "crash: " + next(x for x in err.splitlines() if SANITIZER.search(x))[:200]
    if status in driver.HANG:
        return f"hang: {SECONDS} s of processor time"
    if status == driver.OPEN:
        return "leak: a file is left open"
    if status < 0:
        return f"crash: signal {-status}"
    lines = err.splitlines()
    errors = [x for x in lines if re.match(r"(.*: )?error: ", x)]
    if status in (2, 3) and out is not None:
        return None if not lines and is_error_object(out) else "wrong: no error object, or lines beside it"
    if status in (2, 3) and (len(lines) != 1 or len(errors) != 1):
        return f"wrong: {len(lines)} lines on stderr, {len(errors)} of them errors"
    if status == 0 and errors:
        return "wrong: status 0 with an error"
    if status == 1 and len(lines) > 1:
        return "wrong: status 1 with more than a line on stderr"
    return None if status in (0, 1, 2, 3) else f"wrong: status {status}"


def run(program, words, folder):
    p = program.run(words, cwd=folder, seconds=SECONDS)
    out = p.stdout.decode("utf-8", "replace") if "--json" in words else None
    return p.returncode, broken_rule(p.returncode, out, p.stderr.decode("utf-8", "replace"))


def try_kind(inputs, numbers, program, keep):
    """Returns how often each status was seen, and what broke a rule."""
    seen, broken = {}, []
    for i in numbers:
        text, command = inputs.make(i)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, inputs.name), "wb") as f:
                f.write(text)
            names = {"F": "./" + inputs.name, "OUT": "a.svg", "OUT2": "a.json"}
            words = [names.get(w, w) for w in command]
            status, rule = run(program, words, folder)
        seen[status] = seen.get(status, 0) + 1
        if rule:
            broken.append((i, words, rule))
            print(f"{inputs.kind} {i}: {rule}: stepsim {' '.join(words)}", flush=True)
            if keep:
                with open(os.path.join(keep, f"{inputs.kind}-{i}-{inputs.name}"), "wb") as f:
                    f.write(text)
    return seen, broken


def main():
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    a = argparse.ArgumentParser(usage=__doc__.split("\n")[0][7:])
    a.add_argument("program")
    a.add_argument("--source", default=here)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--platforms", type=int, default=10000)
    a.add_argument("--others", type=int, default=5000)
    a.add_argument("--from", dest="first", type=int, default=0)
    a.add_argument("--count", type=int)
    a.add_argument("--only", choices=sorted(KINDS))
    a.add_argument("--keep")
    o = a.parse_args()
    os.environ.update({"LC_ALL": "C", "ASAN_OPTIONS": "exitcode=99:detect_leaks=1:allocator_may_return_null=1",
                       "LSAN_OPTIONS": f"suppressions={os.path.join(here, 'tests', 'lsan.supp')}:print_suppressions=0",
                       "UBSAN_OPTIONS": "print_stacktrace=1"})
    program = driver.of(o.program)
    if o.keep:
        os.makedirs(o.keep, exist_ok=True)
    others = [k for k in KINDS if k != "platform"]
    failures = total = 0
    print("kind        inputs  status 0      1      2      3  broken", flush=True)
    for kind in [o.only] if o.only else KINDS:
        n = o.platforms if kind == "platform" else -(-o.others // len(others))
        last = n if o.count is None else min(n, o.first + o.count)
        seen, broken = try_kind(Inputs(o.source, kind, o.seed), range(o.first, last), program, o.keep)
        done = sum(seen.values())
        print(f"{kind:<11}{done:>7}{seen.get(0, 0):>10}" + "".join(f"{seen.get(s, 0):>7}" for s in (1, 2, 3)) + f"{len(broken):>8}", flush=True)
        total += done
        failures += len(broken)
    print(f"{total} inputs, {failures} broke a rule")
    return 1 if failures or not total else 0


if __name__ == "__main__":
    sys.exit(main())

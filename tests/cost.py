#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processor time of each test, with that of every process it starts.

    python3 tests/cost.py BUILD [-L LABEL] [-R REGEX] [-E REGEX] [-j N] [--out FILE] [--against FILE] [--most SECONDS]

Runs the tests of the build folder that ctest would run for these -L, -R and -E, N at a time (one), and prints for each its seconds of user and
system time, dearest first, then the sum. Wall time is not printed: it says how busy the machine is. --out writes the table; --against prints
beside each what an earlier table has. Exits 1 where a test fails, or where all together take more than --most seconds.
"""
import argparse
import concurrent.futures
import ctypes
import json
import os
import re
import resource
import signal
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36


def tests_of(build, selection):
    words = ["ctest", "--test-dir", build, "--show-only=json-v1", *selection]
    done = subprocess.run(words, capture_output=True, check=True)
    for test in json.loads(done.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        if "command" not in test:
            sys.exit("cost.py: %s has no command: is it built?" % test["name"])
        yield test["name"], test["command"], properties


def watched(command, properties, report):
    """In a process of its own: runs the command, takes in what it leaves behind, and writes user and system time into report."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    environment = dict(os.environ, **dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", [])))
    child = subprocess.Popen(command, cwd=properties.get("WORKING_DIRECTORY"), env=environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(child.pid, signal.SIGKILL))
    signal.alarm(int(properties.get("TIMEOUT", 3600)))
    said = child.communicate()[0].decode(errors="replace")
    while True: # what a killed parent left comes to this process
        try:
            os.wait()
        except ChildProcessError:
            break
    signal.alarm(0)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    pattern = properties.get("PASS_REGULAR_EXPRESSION")
    good = any(re.search(p, said) for p in pattern) if pattern else child.returncode == 0
    json.dump({"user": used.ru_utime, "system": used.ru_stime, "good": good, "said": said[-4000:]}, report)


def measure(test):
    name, command, properties = test
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        with os.fdopen(writer, "w") as report:
            watched(command, properties, report)
            report.flush()
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as report:
        text = report.read()
    os.waitpid(pid, 0)
    return name, json.loads(text) if text else {"user": 0, "system": 0, "good": False, "said": "cost.py: no report\n"}


def read_table(path):
    with open(path, encoding="utf-8") as f:
        rows = [line.split() for line in f if line.strip() and not line.startswith("#")]
    return {row[0]: float(row[3]) for row in rows[1:]}


def main():
    parser = argparse.ArgumentParser(prog="cost.py", usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("build")
    parser.add_argument("-L", dest="label", action="append", default=[])
    parser.add_argument("-R", dest="regex")
    parser.add_argument("-E", dest="excluded")
    parser.add_argument("-j", dest="jobs", type=int, default=1)
    parser.add_argument("--out")
    parser.add_argument("--against")
    parser.add_argument("--most", type=float)
    args = parser.parse_args()
    selection = [w for label in args.label for w in ("-L", label)]
    selection += ["-R", args.regex] if args.regex else []
    selection += ["-E", args.excluded] if args.excluded else []
    before = read_table(args.against) if args.against else {}
    tests = list(tests_of(args.build, selection))
    if not tests:
        sys.exit("cost.py: no test is selected")
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        found = dict(pool.map(measure, tests))
    for name, one in found.items():
        one["sum"] = one["user"] + one["system"]
        if not one["good"]:
            print("%s failed:\n%s" % (name, one["said"]))
    lines = ["%-28s %9s %9s %9s%s" % ("test", "user", "system", "sum", "    before" if before else "")]
    for name, one in sorted(found.items(), key=lambda item: -item[1]["sum"]):
        line = "%-28s %9.2f %9.2f %9.2f" % (name, one["user"], one["system"], one["sum"])
        lines.append(line + (" %9.2f" % before[name] if name in before else " %9s" % "new" if before else ""))
    total = {key: sum(one[key] for one in found.values()) for key in ("user", "system", "sum")}
    # what begins with # is no row for --against
    lines.append("# %d tests, %.0f s user and %.0f s system, %.1f minutes" % (len(found), total["user"], total["system"], total["sum"] / 60))
    if before:
        gone = ", ".join(sorted(set(before) - set(found))) or "none"
        lines.append("# before: %d tests, %.1f minutes%s" % (len(before), sum(before.values()) / 60, "" if selection else "; gone: " + gone))
    print("\n".join(lines))
    if args.out:
        with open(args.out, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
    if args.most is not None and total["sum"] > args.most:
        sys.exit("cost.py: more than %g s" % args.most)
    return any(not one["good"] for one in found.values())


if __name__ == "__main__":
    sys.exit(main())

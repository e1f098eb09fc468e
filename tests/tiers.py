#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every test is of one tier: its labels are those of quick, of ci or of nightly, each of which is a part of the next
(tests/CMakeLists.txt). What has many cases has all of them in nightly.

    tests/tiers.py CTEST BUILD SOURCE
"""
import glob
import json
import os
import subprocess
import sys

TIERS = {"quick": {"quick", "ci", "nightly"}, "ci": {"ci", "nightly"}, "nightly": {"nightly"}}
MORE = {"browser"}  # labels that are no tier
SECONDS = {"quick": 3600, "ci": 3600, "nightly": 86400}  # that a test may take at least, whatever else the machine does


def tests_of(ctest, build):
    """name -> (labels, seconds that it may take)"""
    listed = json.loads(subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], capture_output=True, check=True).stdout)
    found = {}
    for test in listed["tests"]:
        told = {p["name"]: p["value"] for p in test["properties"]}
        found[test["name"]] = set(told.get("LABELS", [])), told.get("TIMEOUT", 0)
    return found


def wrong_tiers(tests):
    for name, (labels, seconds) in sorted(tests.items()):
        tier = [tier for tier, wanted in TIERS.items() if labels - MORE == wanted]
        if not tier:
            yield "%s: labels are %s: add it by ss_quick, ss_test or ss_nightly" % (name, ", ".join(sorted(labels)) or "none")
        elif seconds < SECONDS[tier[0]]:
            yield "%s: may take %g s of the clock, %d are asked for" % (name, seconds, SECONDS[tier[0]])
        if name.endswith(".all") and (tier != ["nightly"] or name[:-len(".all")] not in tests):
            yield "%s: is the long form of no test, or not of nightly alone" % name


def wrong_suites(tests, source):
    """Suites that take some of their cases, without a test that takes all."""
    for path in sorted(glob.glob(os.path.join(source, "tests", "unit", "*", "test_*.c"))):
        topic = os.path.basename(path)[len("test_"):-len(".c")]
        with open(path, encoding="utf-8") as text:
            if "suite_stride(" in text.read() and "unit.%s.all" % topic not in tests:
                yield "%s: add %s to suites_of_many in tests/CMakeLists.txt" % (path, topic)


def main():
    ctest, build, source = sys.argv[1:]
    tests = tests_of(ctest, build)
    bad = list(wrong_tiers(tests)) + list(wrong_suites(tests, source))
    bad += ["there are no tests of %s" % tier for tier, labels in TIERS.items() if not any(labels == own for own, _ in tests.values())]
    for text in bad:
        print(text)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

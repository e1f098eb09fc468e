#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a document shows what is printed today: words as they are, numbers within 1 %; those with a fraction or a unit also within one of
the last digit that is shown, so that 0.3 may be 0.4, and 8 nodes are not 9.

    close.py SHOWN PRINTED

So a document is made again (`sh docs/refresh.sh`) at a release, or when what it says has moved visibly, not with every prediction. With
DOCUMENTS=exact in the environment, as nightly tests have it, numbers must be the same. Prints the lines that differ; exits 1 where some do.
"""
import difflib
import os
import re
import sys

sys.path[1:1] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "cli")]
sys.dont_write_bytecode = True

from places import NUMBER, looks_predicted  # noqa: E402

NEAR = 0.01
EXACT = os.environ.get("DOCUMENTS") == "exact"


def words(line):
    """A line without its numbers, and one blank for many: a number of more digits moves those behind it."""
    return re.sub(r"\s+", " ", NUMBER.sub("#", line)).strip()


def last_digit(number):
    mantissa, _, power = number.partition("e")
    return 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))


def near(a, b, rounded):
    """Two numbers as they are written."""
    a, b = a.replace(",", ""), b.replace(",", "")
    x, y = float(a), float(b)
    step = max(last_digit(a), last_digit(b)) if rounded else 0
    return abs(x - y) <= max(NEAR * max(abs(x), abs(y)), step) * (1 + 1e-9)


def alike(shown, printed, exact=None):
    """Whether two lines say the same."""
    if shown == printed:
        return True
    if EXACT if exact is None else exact:
        return False
    rounded = looks_predicted(shown)
    pairs = zip(NUMBER.finditer(shown), NUMBER.findall(printed))
    return words(shown) == words(printed) and all(near(a[0], b, rounded(i, a)) for i, (a, b) in enumerate(pairs))


def differences(shown, printed, exact=None):
    """(number of the line shown, from 1, shown, printed) of two lists of lines; "" where one has no such line."""
    found = []
    matcher = difflib.SequenceMatcher(a=[words(x) for x in shown], b=[words(x) for x in printed], autojunk=False)
    for kind, a0, a1, b0, b1 in matcher.get_opcodes():
        pairs = zip(range(a0, a1), range(b0, b1)) if kind == "equal" else []
        found += [(a + 1, shown[a], printed[b]) for a, b in pairs if not alike(shown[a], printed[b], exact)]
        if kind != "equal":
            for i in range(max(a1 - a0, b1 - b0)):
                found.append((a0 + i + 1, shown[a0 + i] if a0 + i < a1 else "", printed[b0 + i] if b0 + i < b1 else ""))
    return found


def main():
    texts = []
    for path in sys.argv[1:3]:
        with open(path, encoding="utf-8") as f:
            texts.append(f.read().split("\n"))
    found = differences(*texts)
    for line, shown, printed in found:
        print("%d: - %s\n%d: + %s" % (line, shown, line, printed))
    return 1 if found or texts[0] == [""] else 0


if __name__ == "__main__":
    sys.exit(main())

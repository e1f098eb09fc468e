#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws comments of the sources for a reader who judges whether each is understood at first reading.

    draw_comments.py [SEED] [N=25] [FOLDER...]

Prints N comments of the C sources below the folders (sim/ of this tree), each with its file and line and the declaration or
statement that it belongs to. One seed draws the same comments of the same sources on every machine. Licence lines are left out.
"""
import os
import random
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def comments(path):
    """Comments of a file: (line, text, the code before a comment at the end of a line, else the code behind it)."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for found in TOKEN.finditer(text):
        token = found.group()
        if token[0] != "/" or "SPDX-License-Identifier" in token:
            continue
        body = token[2:] if token[1] == "/" else token[2:-2]
        body = " ".join(line.strip().lstrip("*").strip() for line in body.split("\n")).strip()
        before = text[text.rfind("\n", 0, found.start()) + 1 : found.start()].strip()
        code = before or next((line.strip() for line in text[found.end() :].split("\n") if line.strip()), "")
        yield text.count("\n", 0, found.start()) + 1, body, code


def sources(folders):
    """C files below the folders, sorted."""
    for folder in folders:
        for where, below, names in os.walk(folder):
            below.sort()
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def")):
                    yield os.path.join(where, name)


def main(words):
    seed = int(words[0]) if words else 1
    count = int(words[1]) if len(words) > 1 else 25
    folders = words[2:] or [os.path.join(ROOT, "sim")]
    found = [(path, *comment) for path in sources(folders) for comment in comments(path)]
    if not found:
        sys.exit("draw_comments.py: no comments below " + " ".join(folders))
    for path, line, text, code in random.Random(seed).sample(found, min(count, len(found))):
        print(f"{os.path.relpath(path, ROOT)}:{line}: {text}\n    | {code}")


if __name__ == "__main__":
    main(sys.argv[1:])

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the tables of docs/design/code-words.md are true: each file exists, and each name beside files stands in one of them.

    code_words.py SOURCE_ROOT

Tries itself first: a page with a wrong path, or a wrong name, must fail. Prints what is wrong; exits 1 where something is.
"""
import os
import re
import sys

PAGE = "docs/design/code-words.md"


def is_path(word):
    return word.startswith("sim/")


def wrong_rows(root, page):
    """What is wrong in the rows of the page's tables, and how many paths they have."""
    wrong, paths = [], 0
    for number, line in enumerate(page.split("\n"), 1):
        if not line.startswith("| "):
            continue
        words = re.findall(r"`([^`]+)`", line)
        texts = []
        for path in filter(is_path, words):
            paths += 1
            if os.path.isfile(os.path.join(root, path)):
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    texts.append(file.read())
            else:
                wrong.append(f"{PAGE}:{number}: no file {path}")
        for name in words:
            name = name.split()[-1]
            if texts and re.fullmatch(r"\w+", name) and not any(re.search(rf"\b{name}\b", text) for text in texts):
                wrong.append(f"{PAGE}:{number}: none of these files has {name}")
    return wrong, paths


def main(root):
    with open(os.path.join(root, PAGE), encoding="utf-8") as file:
        page = file.read()
    for before, after in (("`sim/cost/kernel.c`", "`sim/cost/colonel.c`"), ("`ss_kernel_gemm`", "`ss_colonel_gemm`")):
        if before not in page or not wrong_rows(root, page.replace(before, after))[0]:
            sys.exit(f"code_words.py: {after} in place of {before} was not noticed")
    wrong, paths = wrong_rows(root, page)
    if paths < 100:
        wrong.append(f"{PAGE}: {paths} paths are not both tables")
    print("\n".join(wrong) or f"{paths} paths of {PAGE} are there")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

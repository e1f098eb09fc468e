#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: figures.py [--check] [DOCUMENT...]

Fills the figures of documents that are arithmetic on validation/results.csv; all documents that have such, if none is given.
--check writes nothing, prints what is stale, and exits 1 if anything is: words and what cards say as they are, errors of predictions within what
tests/close.py says.

In a sentence, a figure stands between two comments, the first of which says what it is:

    off by <!--= mean time mixtures card=GB200* -->13.7 %<!--=-->

A table stands behind a comment that says its first column and its figures, and then each row: its name and the rows of
results.csv that it is of. A name with {columns} of results.csv makes one row for each of their values.

    <!-- figures begin
    runs | time: n mean worst | memory: n mean
    H800 | table=runs card=H800
    {source} on {platform} | table=foreign
    -->
    <!-- figures end -->

A list has the columns that its first line names, of all rows that its second line selects.

    <!-- rows begin
    id model outcome predicted_outcome
    all right=no
    -->
    <!-- rows end -->

In validation/README.md the number behind a table's name is that of its rows; in platforms/README.md, of a table whose first line names cards of platforms/cards, each row whose first cell names props
has the cards' values.

Figures: n, mean, median, worst (all of the error without its sign), bias (with it), least and most (with it), range (both),
right ("3 of 4" outcomes). `mean.1` has one digit. Rows: COLUMN=PATTERN,... or COLUMN!=PATTERN,... of shell patterns, `dense`,
`mixtures`, `hybrids` (each of its own); only rows whose quality counts (ok, inferred-precision, A, B), unless `quality=` or `all` is said.
"""
import csv
import fnmatch
import glob
import os
import re
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[1:1] = [os.path.join(ROOT, "tests")]

import close  # noqa: E402

COUNTS = ("ok", "inferred-precision", "A", "B")
ERROR = {"time": ("predicted_ms", "measured_ms", "error_pct"), "memory": ("predicted_mib", "measured_mib", "memory_error_pct")}
DIGITS = {"mean": 2, "median": 2, "bias": 2, "worst": 1, "least": 1, "most": 1, "range": 1}
DOCUMENTS = ("README.md", "docs/*/*.md", "platforms/README.md", "validation/README.md", "workloads/README.md")


class Wrong(Exception):
    pass


def read_results():
    with open(os.path.join(ROOT, "validation", "results.csv"), encoding="utf-8") as f:
        return list(csv.DictReader(f))


def condition(word, columns):
    """A function of a row that says whether it is meant."""
    if word in ("dense", "mixtures", "hybrids"):
        return lambda row: word == ("hybrids" if row["hybrid"] == "1" else "mixtures" if int(row["experts"] or 0) > 1 else "dense")
    column, sign, patterns = word.partition("!=" if "!=" in word else "=")
    if not sign or column not in columns:
        raise Wrong("'%s' is no condition" % word)
    return lambda row: any(fnmatch.fnmatchcase(row[column], p) for p in patterns.split(",")) == (sign == "=")


def select(rows, words):
    """The rows that all conditions mean."""
    if "all" not in words and not any(w.startswith("quality") for w in words):
        rows = [r for r in rows if r["quality"] in COUNTS]
    tests = [condition(w, rows[0].keys()) for w in words if w != "all"]
    return [r for r in rows if all(t(r) for t in tests)]


def figure(what, statistic, rows, sentence):
    """Text of a figure of the rows' errors; empty where there are none."""
    if statistic == "right":
        told = [r["right"] for r in rows if r["right"]]
        return "%d of %d" % (told.count("yes"), len(told))
    predicted, measured, shown = ERROR[what]
    errors = [100 * (float(r[predicted]) / float(r[measured]) - 1) for r in rows if r[shown]]
    if statistic == "n":
        return str(len(errors))
    if not errors:
        return ""
    name, _, digits = statistic.partition(".")
    if name not in DIGITS:
        raise Wrong("'%s' is no figure" % statistic)
    off = [abs(e) for e in errors]
    value = {"mean": lambda: statistics.mean(off), "median": lambda: statistics.median(off), "worst": lambda: max(off),
             "bias": lambda: statistics.mean(errors), "least": lambda: min(errors), "most": lambda: max(errors),
             "range": lambda: (min(errors), max(errors))}[name]()
    places = int(digits) if digits else min(DIGITS[name], 1) if sentence else DIGITS[name]
    form = "%." + str(places) + "f"
    if name == "range":
        text = ("%+" + form[1:] + " to %+" + form[1:]) % value
    else:
        text = (form if name in ("mean", "median", "worst") else "%+" + form[1:]) % value
    return text + " %" if sentence else text


def sentence(query, rows):
    words = query.split()
    if len(words) < 2 or words[1] not in ERROR:
        raise Wrong("'%s' does not begin with a figure, and time or memory" % query)
    text = figure(words[1], words[0], select(rows, words[2:]), True)
    if not text or text == "0":
        raise Wrong("no row is '%s'" % query)
    return text


def copied(cells, name, columns):
    """A row's figures from another document's table: cells 'row NAME, NAME of DOCUMENT', the first whose first cells are so named."""
    match = re.fullmatch(r"row (.+) of (\S+)", cells)
    if not match:
        return None
    wanted, header = [part.strip() for part in match[1].split(",")], []
    with open(os.path.join(ROOT, match[2]), encoding="utf-8") as f:
        for line in f:
            row = [c.strip() for c in line.strip().strip("|").split("|")]
            if line.startswith("|") and "mean %" in row:
                header = row
            if line.startswith("|") and row[:len(wanted)] == wanted and header:
                parts = [c.partition(".") for c in columns]
                cells = [(row[header.index("mean %" if plain == "mean" else plain)], digits) for plain, _, digits in parts]
                return "| %s | %s |" % (name, " | ".join("%.*f" % (int(d), float(c)) if d else c for c, d in cells))
    raise Wrong("%s has no table with a row %s" % (match[2], match[1]))


def table(lines, rows):
    head = [c.strip() for c in lines[0].split("|")]
    columns = []
    for part in head[1:]:
        what, _, words = part.partition(":")
        columns += [(what.strip(), w) for w in words.split()]
    title, last = [head[0]], None
    for what, word in columns:
        plain = word.partition(".")[0]
        title.append("n" if plain == "n" else what + " " + plain + " %" if what != last and plain != "right" else plain)
        last = last if plain == "n" else what
    out = ["| " + " | ".join(title) + " |", "|---" * len(title) + "|"]
    for line in lines[1:]:
        name, _, words = (part.strip() for part in line.partition("|"))
        row = copied(words, name, [word for _, word in columns])
        if row:
            out.append(row)
            continue
        chosen = select(rows, words.split())
        if not chosen:
            raise Wrong("no row is '%s'" % words)
        groups = {}
        for r in chosen:
            groups.setdefault(name.format(**r), []).append(r)
        for key in sorted(groups):
            out.append("| %s | %s |" % (key, " | ".join(figure(*c, groups[key], False) for c in columns)))
    return out


def listed(lines, rows):
    names = lines[0].split()
    out = ["| " + " | ".join(n.replace("_", " ") for n in names) + " |", "|---" * len(names) + "|"]
    for r in select(rows, lines[1].split()):
        out.append("| " + " | ".join(r[n] for n in names) + " |")
    return out


def read_card(name):
    """Props of a card, over those of its base; its own word of what is assumed."""
    with open(os.path.join(ROOT, "platforms", "cards", name + ".xml"), encoding="utf-8") as f:
        props = dict(re.findall(r'<prop id="([^"]+)" value="([^"]*)"', f.read()))
    base = props.pop("ss.card.base", None)
    return dict(read_card(base), **props) if base else props


def card_values(card, ids):
    """Cell of a card for some props: one value where all are alike, - where it has none or not the precision."""
    cells = []
    for i in ids:
        value = card.get(i)
        of = re.search(r"\.(fp32|fp16|bf16|fp8|fp4|mxfp8|fp8_blocks)$", i)
        peak = card.get("ss.peak." + of[1].replace("mxfp8", "fp8").replace("_blocks", "")) if of else "1"
        if value in (None, "0f") or peak in (None, "0f"):
            cells.append("-")
        else:
            cells.append(value + (" (a)" if i[3:] in card.get("ss.assumed", "").split() else ""))
    return cells[0] if len(set(cells)) == 1 else ", ".join(cells)


def cards(text):
    """A document in which every table with cards for columns has their values."""
    names = {os.path.basename(n)[:-4]: read_card(os.path.basename(n)[:-4]) for n in glob.glob(os.path.join(ROOT, "platforms/cards/*.xml"))}
    columns, out = [], []
    for line in text.splitlines():
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line.strip())[1:-1]] if line.startswith("|") else []
        if not cells:
            columns = []
        elif len(cells) > 2 and all(c.lower() in names for c in cells[1:-1]):
            columns = [names[c.lower()] for c in cells[1:-1]]
        elif columns and re.findall(r"`(ss\.[a-z0-9_.]+)`", cells[0]):
            ids = re.findall(r"`(ss\.[a-z0-9_.]+)`", cells[0])
            line = "| %s | %s | %s |" % (cells[0], " | ".join(card_values(c, ids) for c in columns), cells[-1])
        out.append(line)
    return "\n".join(out) + "\n"


def counts(text):
    """A document in which the number behind each table's name is that of its rows."""
    def counted(match):
        with open(os.path.join(ROOT, "validation", match[1]), encoding="utf-8") as f:
            return "| %s | %d |" % (match[1], sum(1 for _ in csv.reader(f)) - 1)
    return re.sub(r"^\| ([a-z0-9-]+\.csv) \| \d+ \|", counted, text, flags=re.M)


def fill(text, rows):
    """The document with today's figures."""
    text = re.sub(r"<!--= (.*?) -->.*?<!--=-->",
                  lambda m: "<!--= %s -->%s<!--=-->" % (m[1], sentence(m[1], rows)), text)
    for kind, make in (("figures", table), ("rows", listed)):
        text = re.sub(r"(<!-- %s begin\n(.*?)\n-->\n).*?(<!-- %s end -->)" % (kind, kind),
                      lambda m, make=make: m[1] + "\n".join(make(m[2].splitlines(), rows)) + "\n" + m[3], text, flags=re.S)
    return text


def main(words):
    check, far = "--check" in words, False
    names = [w for w in words if w != "--check"] or sorted(n for d in DOCUMENTS for n in glob.glob(os.path.join(ROOT, d)))
    rows = read_results()
    for name in names:
        with open(name, encoding="utf-8") as f:
            text = f.read()
        try:
            own = {"platforms": cards, "validation": counts}.get(os.path.basename(os.path.dirname(os.path.abspath(name))))
            facts = own(text) if own else text
            now = fill(facts, rows)
        except Wrong as wrong:
            sys.exit("%s: %s" % (os.path.relpath(name, ROOT), wrong))
        if now == text:
            continue
        if not check:
            with open(name, "w", encoding="utf-8") as f:
                f.write(now)
            continue
        apart = close.differences(text.splitlines(), facts.splitlines(), True) + close.differences(facts.splitlines(), now.splitlines())
        for line, old, new in apart:
            print("%s:%d:\n-%s\n+%s" % (os.path.relpath(name, ROOT), line, old, new))
        far |= bool(apart)
    if far:
        sys.exit("figures are stale: python3 docs/figures.py writes them")


if __name__ == "__main__":
    main(sys.argv[1:])

# SPDX-License-Identifier: Apache-2.0
"""Expected outputs in which predicted numbers are {#}, and the table of those numbers.

{#} is a number; {#9} one in 9 columns with blanks before it, {#-9} with blanks behind it: a table stays as it is when a number gets longer.
"""
import difflib
import os
import re

HOLE = re.compile(r"\{#(-?\d*)\}")
# With a sign where no word is before it.
NUMBER = re.compile(r"(?<![\w.])(?:(?<![\w)+-])[-+])?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")
UNIT = re.compile(r" ?(?:[num]?s|us|%|[KMG]i?B|min|h|days?|tokens/s|TFLOP|USD)\b|%| %")


class Table:
    """figures.tsv: file, line, numbers."""

    def __init__(self, path):
        self.path, self.rows = path, {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                for row in f.read().splitlines()[1:]:
                    name, line, numbers = row.split("\t")
                    self.rows.setdefault(name, {})[int(line)] = numbers.split(" ")

    def of(self, name):
        return self.rows.get(name, {})

    def put(self, name, numbers):
        self.rows.pop(name, None)
        if numbers:
            self.rows[name] = numbers

    def names(self, prefix):
        return sorted(n for n in self.rows if n.startswith(prefix))

    def save(self):
        """Nothing where there is nothing."""
        rows = ["%s\t%d\t%s\n" % (name, line, " ".join(self.rows[name][line])) for name in sorted(self.rows) for line in sorted(self.rows[name])]
        if not rows and not os.path.exists(self.path):
            return
        with open(self.path + ".new", "w", encoding="utf-8") as f:
            f.write("file\tline\tnumbers\n" + "".join(rows))
        os.replace(self.path + ".new", self.path)


def _columns(width, number):
    return "%*s" % (int(width), number) if width else number


def fill(template, numbers):
    """The expected text, and what is wrong with the numbers of the table ("": nothing)."""
    lines, wrong = template.split("\n"), []
    for at, line in enumerate(lines, 1):
        holes = HOLE.findall(line)
        given = list(numbers.get(at, []))
        if len(given) != len(holes):
            wrong.append("%d numbers for %d places in line %d" % (len(given), len(holes), at))
            given = (given + ["?"] * len(holes))[:len(holes)]
        lines[at - 1] = HOLE.sub(lambda hole, given=given: _columns(hole[1], given.pop(0)), line)
    wrong += ["numbers for line %d, which is not there" % at for at in numbers if at > len(lines)]
    return "\n".join(lines), "; figures.tsv has " + ", ".join(wrong) if wrong else ""


def _pattern(line):
    parts = HOLE.split(line)
    text = re.escape(parts[0])
    for width, literal in zip(parts[1::2], parts[2::2]):
        blanks = " *" if width else ""
        hole = "(%s)" % NUMBER.pattern
        text += (blanks + hole if not width.startswith("-") else hole + blanks) + re.escape(literal)
    return re.compile(text + r"\Z")


def read(template, text):
    """The numbers of a text that has the words of the template, by line; None: it has others."""
    wanted, lines, numbers = template.split("\n"), text.split("\n"), {}
    if len(wanted) != len(lines):
        return None
    for at, (line, actual) in enumerate(zip(wanted, lines), 1):
        found = _pattern(line).match(actual)
        if not found:
            return None
        if found.groups():
            numbers[at] = list(found.groups())
    return numbers if fill(template, numbers) == (text, "") else None


# ---- which numbers become {#} ----

def _skeleton(line):
    """A line with each number as one letter, and blanks as one."""
    return re.sub(r" +", " ", NUMBER.sub("#", line))


def _hole(line, found):
    """A place for this number of the line: in columns where more than one blank is on one side of it."""
    before = len(line[:found.start()]) - len(line[:found.start()].rstrip(" "))
    behind = len(line[found.end():]) - len(line[found.end():].lstrip(" "))
    size = found.end() - found.start()
    if before > 1 and before < found.start():
        return before - 1, "{#%d}" % (size + before - 1)
    if behind > 1 and found.end() + behind < len(line):
        return 0, "{#-%d}" % (size + behind - 1)
    return 0, "{#}"


def _masked(line, is_figure):
    """The line with a place for each number of which is_figure(index, match) holds, and these numbers."""
    out, at, numbers = "", 0, []
    for i, found in enumerate(NUMBER.finditer(line)):
        if not is_figure(i, found):
            continue
        taken, hole = _hole(line, found)
        out += line[at:found.start() - taken] + hole
        at = found.end() + (int(hole[3:-1]) - len(found[0]) if hole.startswith("{#-") else 0)
        numbers.append(found[0])
    return out + line[at:], numbers


def looks_predicted(line):
    """Whether a number has a fraction or a unit, and is no part of a name as "qwen2.5-0.5b"."""
    def is_figure(_, found):
        if re.search(r"\w[-+]$", line[:found.start()]):
            return False
        return bool(UNIT.match(line, found.end()) or (re.search(r"[.e]", found[0]) and not re.match(r"[\w-]", line[found.end():])))
    return is_figure


def mask(template, numbers, text):
    """A template of the text, and its numbers by line. A line whose words are those of a line of the old template keeps its places, and gets one
    for each number that moved; others get them by their looks."""
    olds, news = fill(template, numbers)[0].split("\n") if template else [], text.split("\n")
    holes = template.split("\n") if template else []
    like, found = {}, {}
    matcher = difflib.SequenceMatcher(a=[_skeleton(x) for x in olds], b=[_skeleton(x) for x in news], autojunk=False)
    for block in matcher.get_matching_blocks():
        like.update((block.b + i, block.a + i) for i in range(block.size))
    for at, line in enumerate(news):
        if at in like:
            was, old = holes[like[at]], olds[like[at]]
            moved = [a != b for a, b in zip(NUMBER.findall(old), NUMBER.findall(line))]
            placed = _placed(was)
            news[at], of_line = _masked(line, lambda i, _, m=moved, p=placed: m[i] or i in p)
        else:
            news[at], of_line = _masked(line, looks_predicted(line))
        if of_line:
            found[at + 1] = of_line
    return "\n".join(news), found


def _placed(template_line):
    """Which numbers of a line, in order, are places."""
    marked = HOLE.sub(lambda _: " 0\x01", template_line)
    return {i for i, n in enumerate(NUMBER.finditer(marked)) if marked[n.end():n.end() + 1] == "\x01"}

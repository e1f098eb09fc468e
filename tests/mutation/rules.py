# SPDX-License-Identifier: Apache-2.0
"""Mutants of a C file by rule: one small change of one line inside a function.

    arithmetic  + and - swapped, * and / swapped, also in += and the like
    compare     < and > swapped, <= and >=, == and !=
    constant    a number plus 1
    negate      the condition of an if or a while
    remove      an assignment, an increment or a call; not one that frees, which the sanitizers' runs would see
    minmax      min and max swapped

The files are as clang-format leaves them: a function's braces stand in column 0, binary operators between spaces, stars of pointers not.
"""
import collections
import re

RULES = ("arithmetic", "compare", "constant", "negate", "remove", "minmax")
# line: index from 0; before, after: the whole line without its indent
Site = collections.namedtuple("Site", "line rule before after")

OTHER = {"+": "-", "-": "+", "*": "/", "/": "*", "<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "!=", "!=": "==", "min": "max",
         "max": "min"}
ARITHMETIC = re.compile(r"(?<=[\w)\]] )([-+*/])(?= [\w(*&!-])|(?<= )([-+*/])(?== )")
COMPARE = re.compile(r"(?<= )(<=|>=|==|!=|<|>)(?= )")
CONSTANT = re.compile(r"(?<![\w.])(?:\d+\.\d*|\d+|\.\d+)(?:e[-+]?\d+)?(?![\w.])")
MINMAX = re.compile(r"(?<=\bf)(min|max)(?=\()|(?<![\w.>])(min|max)(?=\()")
CONDITION = re.compile(r"^(?:} else )?(?:if|while) \(")
REMOVED = re.compile(r"^(?:[\w.\->\[\]*+ ]*?[\w\]] (?:[-+*/|&]|<<)?= .*|[a-z_]\w*\(.*\)|(?:\+\+|--)?[\w.\->\[\]]+(?:\+\+|--)?);$")
DECLARED = re.compile(r"^(?:(?:const|static|struct|enum|unsigned|int|double|char|size_t|long|u?int\d+_t|float)\b|\w+ [\w*]+ = |return\b|goto\b"
                      r"|\w*(?:free|close|end)\()")


def masked(text):
    """The text with comments, strings and preprocessor lines as blanks, of the same length."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)
    return re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


def closing(line, start):
    """Index of the parenthesis that closes the one at `start`; -1: on another line."""
    depth = 0
    for i in range(start, len(line)):
        depth += (line[i] == "(") - (line[i] == ")")
        if depth == 0:
            return i
    return -1


def changes(line, code, previous):
    """(rule, line) of each mutant of a line; code: the same without comments and strings, previous: the code line before it."""
    for pattern, rule in ((ARITHMETIC, "arithmetic"), (COMPARE, "compare"), (MINMAX, "minmax")):
        for m in pattern.finditer(code):
            yield rule, line[:m.start()] + OTHER[m.group()] + line[m.end():]
    for m in CONSTANT.finditer(code):
        yield "constant", "%s(%s + 1)%s" % (line[:m.start()], m.group(), line[m.end():])
    m = CONDITION.match(code)
    if m:
        end = closing(code, m.end() - 1)
        if end >= 0:
            yield "negate", "%s!(%s)%s" % (line[:m.end()], line[m.end():end], line[end:])
    whole = code.count("(") == code.count(")") and re.search(r"(?:[;{}:)]|\belse)$", previous)
    if whole and REMOVED.match(code) and not DECLARED.match(code):
        yield "remove", ";"


def sites(text):
    """The mutants of a file, in the order of its lines."""
    lines, code = text.split("\n"), masked(text).split("\n")
    inside, previous, found = False, "", []
    for i, bare in enumerate(code):
        if bare.rstrip() in ("{", "}"):
            inside = bare.rstrip() == "{"
        elif inside and bare.strip():
            indent = len(bare) - len(bare.lstrip())
            for rule, after in changes(lines[i][indent:], bare.strip(), previous):
                found.append(Site(i, rule, lines[i][indent:], after))
        previous = bare.strip() or previous
    return found

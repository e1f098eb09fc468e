# SPDX-License-Identifier: Apache-2.0
"""The committed list of mutants: drawn by hashes, so that code that moves keeps its mutants and other code gets its own."""
import collections
import glob
import hashlib
import os

import rules

FOLDER = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(FOLDER, "mutants.tsv")
SEED = 1
TOTAL = 320
EACH = 12  # of a room at least
# id: of what is changed, wherever it stands; file: below the repository; line: from 1; outcome: "" where it was not tried; test: that found it
Mutant = collections.namedtuple("Mutant", "id file line rule before after outcome test", defaults=("", ""))


def number(*words):
    return int.from_bytes(hashlib.sha256("\0".join(map(str, words)).encode()).digest()[:8], "big")


def room(mutant):
    return mutant.file.split("/")[1]


def all_mutants(root):
    """Of every C file of sim/; several that read alike in a file are told apart by their order."""
    for path in sorted(glob.glob(os.path.join(root, "sim", "**", "*.c"), recursive=True)):
        seen = collections.Counter()
        name = os.path.relpath(path, root)
        with open(path, encoding="utf-8") as text:
            for site in rules.sites(text.read()):
                what = (name, site.rule, site.before, site.after)
                seen[what] += 1
                key = "%08x" % (number(*what, seen[what]) >> 32)
                yield Mutant(key, name, site.line + 1, site.rule, site.before, site.after)


def drawn(mutants):
    """A room's mutants in the order of the seed, one of each rule in turn."""
    by_rule = [sorted((m for m in mutants if m.rule == rule), key=lambda m: number(SEED, m.id)) for rule in rules.RULES]
    while any(by_rule):
        for queue in by_rule:
            if queue:
                yield queue.pop(0)


def choose(root, kept):
    """The list: of each room as many as its share of all says; those with an id in `kept` (id -> mutant) first. Ordered by file and line."""
    rooms = collections.defaultdict(list)
    for m in all_mutants(root):
        rooms[room(m)].append(m)
    total, chosen = sum(map(len, rooms.values())), []
    for name in sorted(rooms):
        wanted = max(EACH, round(TOTAL * len(rooms[name]) / total))
        order = list(drawn(rooms[name]))
        stay = [m._replace(outcome=kept[m.id].outcome, test=kept[m.id].test) for m in order if m.id in kept]
        chosen += (stay + [m for m in order if m.id not in kept])[:max(wanted, len(stay))]
    return sorted(chosen, key=lambda m: (m.file, m.line, m.rule, m.after))


def read(path=LIST):
    with open(path, encoding="utf-8") as table:
        rows = [line.rstrip("\n").split("\t") for line in table if not line.startswith("#")]
    return [Mutant(row[0], row[1], int(row[2]), *row[3:]) for row in rows[1:]]


def write(mutants, path=LIST):
    with open(path, "w", encoding="utf-8") as table:
        table.write("# tests/mutation/run.py --update keeps this list, --score --keep its outcomes. One change of one line each.\n")
        for row in [Mutant._fields] + mutants:
            table.write("\t".join(map(str, row)).rstrip("\t") + "\n")


def today(root, mutants):
    """id -> the mutant with the line where it stands now; those whose code is gone are missing."""
    wanted = {m.id for m in mutants}
    return {m.id: m for m in all_mutants(root) if m.id in wanted}

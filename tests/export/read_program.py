# SPDX-License-Identifier: Apache-2.0
"""Reads the expanded text of a program (docs/reference/formats-program.md): what each class does, event by event."""
import shlex

TIMES = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}
BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def amount(word, units):
    for unit in sorted(units, key=len, reverse=True):
        if word.endswith(unit):
            return float(word[:-len(unit)]) * units[unit]
    raise ValueError(word)


class Program:
    def __init__(self, path):
        self.channels, self.collectives, self.classes, self.order = {}, {}, {}, []
        templates, where, block = {}, None, None
        for line in open(path):
            words = shlex.split(line, comments=True)
            if not words:
                continue
            if words == ["}"]:
                where, block = (where[0], where[1]) if block == "slot" else None, None
                continue
            if where is None:
                where = self.statement(words, templates)
            elif where[0] == "collective":
                self.in_collective(self.collectives[where[1]], words)
            elif where[0] == "class" and words[0] == "slot" and words[-1] == "{":
                block = "slot"
            elif where[0] == "class" and words[0] == "slot":
                self.classes[where[1]] += templates[words[1]]
            elif words[0] != "memory":
                (self.classes if where[0] == "class" else templates)[where[1]].append(words)

    def statement(self, words, templates):
        kind, name = words[0], words[1]
        if kind == "channel":
            pairs = dict(zip(words[2::2], words[3::2]))
            self.channels[name] = (pairs["from"], pairs["to"])
        if words[-1] != "{":
            return None
        if kind == "collective":
            self.collectives[name] = {"members": [], "phases": []}
        elif kind == "template":
            templates[name] = []
        else:
            self.classes[name] = []
            self.order.append(name)
        return kind, name

    @staticmethod
    def in_collective(c, words):
        if words[0] == "members":
            c["members"] += words[1:]
        elif words[0] == "phase":
            c["phases"].append(0)
        else:
            c["phases"][-1] += amount(words[2], BYTES)

    def compute(self, cls):
        """Seconds of all computations of a class."""
        return sum(amount(e[1], TIMES) for e in self.classes[cls] if e[0] == "compute")

    def sent(self, cls):
        """Bytes that a class sends over channels, by the number of the channel."""
        sums, numbers = {}, {name: i for i, name in enumerate(self.channels)}
        for e in self.classes[cls]:
            if e[0] == "send":
                sums.setdefault(numbers[e[1]], []).append(round(amount(e[2], BYTES)))
        return sums

    def posts(self, cls):
        """How often a class posts each collective."""
        count = {}
        for e in self.classes[cls]:
            if e[0] == "post":
                count[e[1]] = count.get(e[1], 0) + 1
        return count

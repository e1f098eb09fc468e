# SPDX-License-Identifier: Apache-2.0
"""A reader of GOAL text by the rules of LogGOPSim's parser (spcl/LogGOPSim@76451de: src/LogGOPSim/txt2bin.re), and a run of what it read:
operations begin when what they require has ended, a receive ends when its message is there, and messages take no time."""
import collections
import re

WS = r"[ \t]+"
LABEL = r"([a-zA-Z][a-zA-Z0-9_]*)"
CALC = re.compile(rf"(?:{LABEL}[ \t]*:[ \t]*)?calc{WS}(\d+)(?:{WS}cpu{WS}(\d+))?[ \t]*\Z")
MESSAGE = re.compile(rf"(?:{LABEL}[ \t]*:[ \t]*)?(send|recv){WS}(\d+)[ \t]*b{WS}(to|from){WS}(\d+)"
                     rf"(?:{WS}tag{WS}(\d+))?(?:{WS}cpu{WS}(\d+))?(?:{WS}nic{WS}(\d+))?[ \t]*\Z")
REQUIRES = re.compile(rf"{LABEL}{WS}(requires|irequires){WS}{LABEL}[ \t]*\Z")
KEYWORDS = {"rank", "num_ranks", "send", "recv", "calc"}


class Op:
    __slots__ = ("kind", "size", "peer", "tag", "cpu", "needs", "after", "at")

    def __init__(self, kind, size, peer=0, tag=0, cpu=0):
        self.kind, self.size, self.peer, self.tag, self.cpu = kind, size, peer, tag, cpu
        self.needs, self.after, self.at = 0, [], 0


def operation(line):
    m = CALC.match(line)
    if m:
        return m[1], Op("calc", int(m[2]), cpu=int(m[3] or 0))
    m = MESSAGE.match(line)
    assert m and (m[2] == "send") == (m[4] == "to"), line
    return m[1], Op(m[2], int(m[3]), int(m[5]), int(m[6] or 0), int(m[7] or 0))


def read(path):
    """[rank] -> list of Op"""
    ranks, labels, number = [], None, 0
    for line in open(path):
        line = line.rstrip("\n")
        if not line.strip(" \t") or line.lstrip(" \t").startswith("//"):
            continue
        if labels is None:
            if re.match(rf"num_ranks{WS}\d+[ \t]*\Z", line):
                number = int(line.split()[1])
                continue
            m = re.match(rf"rank{WS}(\d+)[ \t]*{{[ \t]*\Z", line)
            assert m and int(m[1]) == len(ranks), line
            ranks.append([])
            labels = {}
        elif line.strip() == "}":
            labels = None
        elif REQUIRES.match(line):
            first, word, second = REQUIRES.match(line).groups()
            assert word == "requires"
            labels[second].after.append(labels[first])  # a label that is not known is an error there, too
            labels[first].needs += 1
        else:
            label, op = operation(line)
            assert label not in KEYWORDS and label not in labels, line
            assert op.cpu < 256 and op.peer < number and op.size > 0 and op.tag < 2**32, line
            labels[label] = op
            ranks[-1].append(op)
    assert labels is None and len(ranks) == number
    return ranks


def run(ranks):
    """Runs it; returns the moment in ns at which each rank has ended. Fails where it cannot run, or a message is not received as it was sent."""
    sent, wanted = collections.defaultdict(collections.deque), collections.defaultdict(collections.deque)
    ready = collections.deque((r, op) for r, ops in enumerate(ranks) for op in ops if op.needs == 0)
    left, ends = sum(map(len, ranks)), [0] * len(ranks)

    def finish(rank, op, at):
        nonlocal left
        left -= 1
        ends[rank] = max(ends[rank], at)
        for other in op.after:
            other.at = max(other.at, at)
            other.needs -= 1
            if other.needs == 0:
                ready.append((rank, other))

    while ready:
        rank, op = ready.popleft()
        if op.kind == "calc":
            finish(rank, op, op.at + op.size)
            continue
        sends = op.kind == "send"
        key = (rank, op.peer, op.tag) if sends else (op.peer, rank, op.tag)
        if sends:
            finish(rank, op, op.at)
        (sent if sends else wanted)[key].append((rank, op))
        while sent[key] and wanted[key]:
            (_, s), (to, r) = sent[key].popleft(), wanted[key].popleft()
            assert s.size == r.size, f"{key}: {s.size} bytes sent, {r.size} received"
            finish(to, r, max(s.at, r.at))
    assert left == 0, f"deadlock: {left} operations cannot begin"
    assert not any(sent.values()), "a message is not received"
    return ends

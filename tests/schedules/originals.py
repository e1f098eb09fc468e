#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: originals.py STEPSIM [--megatron DIR] [--megatron-0.8 DIR] [--dualpipe DIR] [--pytorch DIR] [--zero-bubble DIR]
                      [--few] [--markdown]

Every schedule against the code that it is of, slot by slot on every rank. The directories are checkouts that the caller
fetched: NVIDIA/Megatron-LM (now, and at tag core_v0.8.0), deepseek-ai/DualPipe, pytorch/pytorch (two files of
torch/distributed/pipelining are enough) and sail-sg/zero-bubble. None needs PyTorch or a GPU. Rows of a directory that is
not given are left out. --few takes every seventh case.

Prints a table and exits 1 if any slot differs, or if stepsim runs what an original refuses beyond the column for it.
"""
import argparse
import os
import subprocess
import sys

import loaders


def ranks_of(lines):
    """Words of every rank of a schedule's text form."""
    ranks = {}
    for line in lines:
        if line.startswith("rank "):
            rank, _, slots = line[5:].partition(":")
            ranks.setdefault(int(rank), []).extend(slots.replace("OVERLAP_F_B", "").split())
    return [ranks[r] for r in range(len(ranks))]


def stepsim(binary, words):
    """Words of every rank; None: refused."""
    done = subprocess.run([binary, "schedule", "write", "--text", *words], capture_output=True, text=True)
    if done.returncode == 3:
        return None
    if done.returncode:
        raise SystemExit("stepsim schedule write %s: %s" % (" ".join(words), done.stderr))
    return ranks_of(done.stdout.splitlines())


class Row:
    """A schedule, the original's name, and its cases: words of stepsim and a function that runs the original."""

    def __init__(self, name, original, covers, cases, note=""):
        self.name, self.original, self.covers, self.cases, self.note = name, original, covers, cases, note
        self.equal = self.differ = self.both = self.ours = self.theirs = self.slots = 0
        self.first = None

    def run(self, binary, step):
        for i, (words, original) in enumerate(self.cases):
            if i % step:
                continue
            mine = stepsim(binary, [self.name, *words])
            try:
                theirs = original()
            except loaders.Refused:
                theirs = None
            self.count(words, mine, theirs)

    def count(self, words, mine, theirs):
        if mine is None or theirs is None:
            self.both += mine is None and theirs is None
            self.ours += mine is not None and theirs is None
            self.theirs += mine is None and theirs is not None
            return
        self.slots += sum(map(len, theirs))
        if mine == theirs:
            self.equal += 1
            return
        self.differ += 1
        self.first = self.first or (words, [(a, b) for a, b in zip(mine, theirs) if a != b][:1])

    def line(self):
        return (self.name + (" " + self.note if self.note else ""), self.original, self.covers, "%d" % self.equal, "{:,}".format(self.slots),
                "%d" % self.differ, "%d" % self.both, "%d" % self.ours, "%d" % self.theirs)


HEAD = ("schedule", "original", "cases", "equal", "slots", "differ", "both refuse", "only stepsim accepts", "only the original accepts")


def shape(p, m, v=1, *more):
    words = ["--pp", str(p), "--microbatches", str(m), *map(str, more)]
    return words + (["--vp", str(v)] if v > 1 else [])


def megatron(now):
    yield Row("1f1b", "Megatron-LM", "p 1..16, m 1..32, 64, 100", [
        (shape(p, m), lambda p=p, m=m: now.one_f_one_b(p, 1, m)) for p in range(1, 17) for m in (*range(1, 33), 64, 100)])
    groups = [(p, v, m, n) for p in range(2, 9) for v in range(2, 6) for m in (*range(1, 25), 32, 33, 48, 64) for n in (p, p + 1, 2 * p, 3 * p)]
    yield Row("interleaved", "Megatron-LM", "p 2..8, v 2..5, m 1..24, 32, 33, 48, 64, N p, p+1, 2p, 3p", [
        (shape(p, m, v, "--group", n), lambda p=p, v=v, m=m, n=n: now.interleaved(p, v, m, n)) for p, v, m, n in groups[::2]], "--group N")
    yield Row("interleaved", "Megatron-LM, --overlap-moe-expert-parallel-comm", "the same", [
        (shape(p, m, v, "--group", n, "--paired"), lambda p=p, v=v, m=m, n=n: now.interleaved(p, v, m, n, pairs=True))
        for p, v, m, n in groups[1::4]], "--group N --paired")
    yield Row("interleaved", "Megatron-LM, --overlap-p2p-communication-warmup-flush", "the same", [
        (shape(p, m, v, "--group", n), lambda p=p, v=v, m=m, n=n: now.interleaved(p, v, m, n, flush=True))
        for p, v, m, n in groups[3::4]], "--group N")


    yield Row("1f1b", "Megatron-LM without a pipeline, --overlap-moe-expert-parallel-comm", "p 1, m 1..64", [
        (shape(1, m, 1, "--paired"), lambda m=m: now.pairs_alone(m)) for m in range(1, 65)], "--paired")


def megatron_0_8(old):
    yield Row("interleaved", "Megatron-LM core 0.8", "p 2..12, v 2..5, m 1..32, 48, 64", [
        (shape(p, m, v), lambda p=p, v=v, m=m: old.interleaved(p, v, m))
        for p in (2, 3, 4, 6, 8, 12) for v in range(2, 6) for m in (*range(1, 33), 48, 64)])


def dualpipe(d):
    yield Row("dualpipe", "DualPipe", "p 1..16, m 1..32, 64", [
        (shape(p, m), lambda p=p, m=m: d.order(p, m, 0)) for p in range(1, 17) for m in (*range(1, 33), 64)])
    yield Row("dualpipev", "DualPipe", "p 1..12, m 1..32, 64", [
        (shape(p, m), lambda p=p, m=m: d.order(p, m, 1)) for p in range(1, 13) for m in (*range(1, 33), 64)])


def pytorch(t):
    def grid(ps, vs, ms):
        return [(p, v, m) for p in ps for v in vs for m in ms]
    few = (*range(1, 25), 32, 64)
    yield Row("gpipe", "PyTorch LoopedBFS, v = 1, backwards turned round", "p 1..16, m 1..24", [
        (shape(p, m), lambda p=p, m=m: turned(t.order("ScheduleLoopedBFS", p, 1, m))) for p, _, m in grid(range(1, 17), (1,), range(1, 25))])
    yield Row("looped-bfs", "PyTorch LoopedBFS", "p 1..8, v 2..4, m 1..24, 32, 64", [
        (shape(p, m, v), lambda p=p, v=v, m=m: t.order("ScheduleLoopedBFS", p, v, m)) for p, v, m in grid(range(1, 9), range(2, 5), few)])
    yield Row("interleaved", "PyTorch Interleaved1F1B", "p 2..8, v 2..4, m 1..32", [
        (shape(p, m, v, "--group", m // max(1, m // p)), lambda p=p, v=v, m=m: t.order("ScheduleInterleaved1F1B", p, v, m))
        for p, v, m in grid(range(2, 9), range(2, 5), range(1, 33)) if m % max(1, m // p) == 0], "--group m/rounds")
    yield Row("zb-h1", "PyTorch InterleavedZeroBubble, v = 1", "p 1..16, m 1..24, 32, 64", [
        (shape(p, m), lambda p=p, m=m: t.order("ScheduleInterleavedZeroBubble", p, 1, m)) for p, _, m in grid(range(1, 17), (1,), few)])
    yield Row("zb-interleaved", "PyTorch InterleavedZeroBubble", "p 1..12, v 1..5, m 1..24, 32, 64", [
        (shape(p, m, v) + ([] if v > 1 else ["--vp", "1"]), lambda p=p, v=v, m=m: t.order("ScheduleInterleavedZeroBubble", p, v, m))
        for p, v, m in grid(range(1, 13), range(1, 6), few)])
    yield Row("zb-v", "PyTorch ZBVZeroBubble", "p 1..16, m 1..24, 32, 64", [
        (shape(p, m), lambda p=p, m=m: t.order("ScheduleZBVZeroBubble", p, 2, m)) for p, _, m in grid(range(1, 17), (2,), few)])
    yield Row("dualpipev", "PyTorch DualPipeV", "p 1..12, m 1..32, 64", [
        (shape(p, m), lambda p=p, m=m: t.order("ScheduleDualPipeV", p, 2, m)) for p, _, m in grid(range(1, 13), (2,), (*range(1, 33), 64))])


def turned(ranks):
    """GPipe runs its backwards in the order of the forwards, PyTorch's breadth-first order in the opposite one."""
    return [words[:len(words) // 2] + words[:len(words) // 2 - 1:-1] for words in ranks]


def zero_bubble(z):
    few = (*range(1, 17), 20, 24, 31, 40)
    yield Row("v-half", "zero-bubble V-Half", "p 1..10, m 1..16, 20, 24, 31, 40", [
        (shape(p, m), lambda p=p, m=m: z.greedy(p, m, "half")) for p in range(1, 11) for m in few])
    yield Row("v-min", "zero-bubble V-Min", "the same", [
        (shape(p, m), lambda p=p, m=m: z.greedy(p, m, "min")) for p in range(1, 11) for m in few])
    yield Row("1f1b-v", "zero-bubble 1F1B-V", "p 1..12, m 1..24, 32, 64", [
        (shape(p, m), lambda p=p, m=m: z.one_f_one_b_v(p, m)) for p in range(1, 13) for m in (*range(1, 25), 32, 64)])
    yield Row("group-interleaved", "zero-bubble group-interleaved 1F1B", "p 2..8, v 1..4, m 1..12, 16, 32, N 1..p", [
        (shape(p, m, v, "--group", n, *(["--vp", 1] if v == 1 else [])), lambda p=p, v=v, m=m, n=n: z.group_interleaved(p, v, m, n))
        for p in range(2, 9) for v in range(1, 5) for m in (*range(1, 13), 16, 32) for n in range(1, p + 1)][::2], "--group N")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("stepsim")
    sources = {"megatron": (loaders.Megatron, megatron), "megatron-0.8": (loaders.Megatron08, megatron_0_8), "dualpipe": (loaders.DualPipe, dualpipe),
               "pytorch": (loaders.PyTorch, pytorch), "zero-bubble": (loaders.ZeroBubble, zero_bubble)}
    for name in sources:
        parser.add_argument("--" + name, dest=name)
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--only", help="rows of this schedule")
    asked = parser.parse_args()
    binary, rows = os.path.abspath(asked.stepsim), []
    for name, (make, rows_of) in sources.items():
        if getattr(asked, name):
            for row in rows_of(make(getattr(asked, name))):
                if asked.only in (None, row.name):
                    row.run(binary, 7 if asked.few else 1)
                    rows.append(row)
    if not rows:
        parser.error("no checkout is given")
    lines = [HEAD] + [row.line() for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    for n, line in enumerate(lines):
        if asked.markdown:
            print("| " + " | ".join(line) + " |" + ("\n|" + "---|" * len(HEAD) if n == 0 else ""))
        else:
            print("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip())
    for row in rows:
        if row.first:
            words, ranks = row.first
            print("\n%s %s differs from %s:\n  %s\n  %s" % (row.name, " ".join(words), row.original, " ".join(ranks[0][0]), " ".join(ranks[0][1])))
    return any(row.differ for row in rows)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: unequal.py STEPSIM ZERO_BUBBLE [CASES] [SEED]

`schedule search` against the generators of sail-sg/zero-bubble (a checkout that the caller fetched) on random times, memories
and caps: one chunk a rank, every third case a V. Both orders are timed here, by their slots alone: the longest rank from its
first start to its last end, which is what the generators minimise, and the peak of memory of each rank. Exits 1 if stepsim's
order is longer than the generator's in any case, or passes a cap.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import loaders
import originals

WORD = re.compile(r"(\d+)([FIWB])(\d+)")


def evaluate(ranks, v_shape, times, memory):
    """(longest rank, last end, peak of each rank) of an order; times and memory: (F, I, W) and (activation, weight) by rank."""
    p = len(ranks)
    stages = 2 * p if v_shape else p
    at, end, first, now, peak = [0] * p, [0] * p, [None] * p, [0] * p, [0] * p
    done = {}
    moved = True
    while moved:
        moved = False
        for r in range(p):
            while at[r] < len(ranks[r]):
                stage, phase, mb = WORD.match(ranks[r][at[r]]).groups()
                stage, mb = int(stage), int(mb)
                if phase == "F":
                    needs = [("F", stage - 1, mb)] if stage else []
                elif phase == "I":
                    needs = [("F", stage, mb)] + ([("I", stage + 1, mb)] if stage + 1 < stages else [])
                else:
                    needs = [("I", stage, mb)]
                if any(n not in done for n in needs):
                    break
                start = max([end[r]] + [done[n] for n in needs])
                end[r] = done[phase, stage, mb] = start + times["FIW".index(phase)][r]
                first[r] = start if first[r] is None else first[r]
                now[r] += {"F": memory[0][r], "I": memory[1][r] - memory[0][r], "W": -memory[1][r]}[phase]
                peak[r] = max(peak[r], now[r])
                at[r] += 1
                moved = True
    assert all(at[r] == len(ranks[r]) for r in range(p)), "the order does not run"
    return max(e - f for e, f in zip(end, first)), max(end), peak


def draw(rng, v_shape):
    p = rng.choice((2, 3, 4, 5, 6, 8))
    m = rng.choice((p, p + 1, 2 * p, 2 * p + 3, 3 * p, 4 * p))
    if v_shape:  # the V's generator knows one time and one memory for all
        t = [rng.randint(5, 30) for _ in range(3)]
        times = [[x] * p for x in t]
        return p, m, times, ([1] * p, [1] * p), [rng.choice((2 * p, 2 * p, 2 * p + 2, 3 * p))] * p
    equal = rng.random() < 0.4
    times = [[rng.randint(8, 30)] * p if equal else [rng.randint(8, 30) for _ in range(p)] for _ in range(3)]
    a = rng.randint(10, 40)
    w = rng.randint(0, a)
    cap = int(a * rng.choice((p, p + 1, 1.5 * p, 2 * p, 2 * p, 3 * p)))
    return p, m, times, ([a] * p, [w] * p), [cap] * p


def per_rank(columns):
    return ";".join(",".join(str(x) for x in row) for row in zip(*columns))


def search(binary, words):
    """The order that stepsim finds, its words by rank."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "found.sched")
        subprocess.run([binary, "schedule", "search", *words, "-o", path], check=True, stdout=subprocess.DEVNULL)
        with open(path) as file:
            return originals.ranks_of(file)


def main():
    binary, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    cases, rng = int(sys.argv[3]) if len(sys.argv) > 3 else 200, random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    zero, bad, better, equal, refused = loaders.ZeroBubble(root), 0, 0, 0, 0
    for n in range(cases):
        v_shape = n % 3 == 2
        p, m, times, memory, cap = draw(rng, v_shape)
        mine = search(binary, [
            "--pp", str(p), "--microbatches", str(m), "--times", per_rank(times), "--memory", "%d,%d" % (memory[0][0], memory[1][0]),
            "--cap", str(cap[0]), "--no-barrier", *(["--v"] if v_shape else [])])
        a = evaluate(mine, v_shape, times, memory)
        over = any(x > c for x, c in zip(a[2], cap))
        try:
            theirs = zero.zbv(p, m, [t[0] for t in times], cap[0]) if v_shape else zero.zb(
                p, m, times, cap, (memory[0], [w - a for a, w in zip(*memory)], [-w for w in memory[1]]))
        except loaders.Refused:
            refused += 1
            bad += over
            continue
        b = evaluate(theirs, v_shape, times, memory)
        longer = a[0] > b[0]
        bad += longer or over
        better += a[0] < b[0]
        equal += a[0] == b[0]
        if longer or over:
            print("%s p %d m %d times %s memory %s cap %s: %g, peak %g; zero-bubble %g, peak %g" % (
                "V" if v_shape else "1", p, m, per_rank(times), per_rank(memory), cap[0], a[0], max(a[2]), b[0], max(b[2])))
    print("%d cases: %d shorter than zero-bubble's order, %d as long, %d longer or over the cap; %d that zero-bubble refuses" % (
        cases, better, equal, bad, refused))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())

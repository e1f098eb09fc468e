#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check.py STEPSIM SOURCES    programs as GOAL and Chakra say what the program says, by readers of the published formats"""
import collections
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chakra
import goal
from read_program import Program

H800 = "--platform h800 --bf16 --seq 4096 --mbs 1 --nodes 1".split()
LLAMA = H800 + "--model llama3.1-8b --num-layers 8 --use-distributed-optimizer".split()
MOE = H800 + "--model qwen3-30b-a3b --num-layers 4 --ep 8 --gbs 8 --moe-token-dispatcher-type alltoall".split()
JOBS = {
    "folded": LLAMA + "--tp 2 --pp 2 --gbs 16 --sequence-parallel".split(),
    "unfolded": LLAMA + "--tp 2 --pp 2 --gbs 16 --sequence-parallel --unfold --level layer".split(),
    "interleaved": LLAMA + "--tp 2 --pp 4 --vp 2 --gbs 8 --unfold --overlap-grad-reduce".split(),
    "never waited for": LLAMA + "--pp 4 --gbs 16 --schedule zb-h1 --unfold".split(),
    "all-reduced": H800 + "--model llama3.1-8b --num-layers 4 --gbs 8 --tp 4 --unfold --level layer".split(),
    "experts": MOE + "--unfold --level layer".split(),
    "rings": LLAMA + "--cp 4 --gbs 4 --unfold --level layer".split(),
    "loops": LLAMA + "--pp 2 --gbs 512".split(),
    "jitter": LLAMA + "--tp 2 --pp 2 --gbs 16 --straggler 3:1.5".split(),
}


def check_goal(program, ranks, name):
    assert len(ranks) == len(program.order)
    channels = len(program.channels)
    moved = collections.Counter()
    for cls, ops in zip(program.order, ranks):
        compute = sum(op.size for op in ops if op.kind == "calc" and op.cpu == 0)
        assert abs(compute - program.compute(cls) * 1e9) <= 0.6, (name, cls, compute, program.compute(cls))
        sent = collections.defaultdict(list)
        for op in ops:
            if op.kind == "send" and op.tag < channels:
                sent[op.tag].append(op.size)
            elif op.kind == "send":
                moved[(op.tag - channels) // 32] += op.size
        assert sent == program.sent(cls), (name, cls)
    for i, (key, c) in enumerate(program.collectives.items()):
        times = program.posts(c["members"][0]).get(key, 0) if len(c["members"]) > 1 else 0
        least = sum(max(round(b), 1) for b in c["phases"] or [0])
        rounds = (len(c["members"]) - 1).bit_length() * len(c["members"]) * max(len(c["phases"]), 1)
        assert times * least <= moved[i] <= times * (least + rounds), (name, key, times, least, moved[i])
    goal.run(ranks)


def check_order(nodes, name):
    seen = set()
    for n in nodes:
        assert n["id"] not in seen and all(d in seen for d in n["deps"]), (name, n)
        seen.add(n["id"])


def attribute(n, name, kind):
    assert n["attr"][name][0] == kind, (n, name)
    return n["attr"][name][1]


def check_chakra(program, prefix, name):
    groups = json.load(open(prefix + ".json"))
    assert all(int(g) > 0 for g in groups)
    posted = collections.defaultdict(list)
    messages = collections.defaultdict(lambda: ([], []))
    kinds = collections.Counter()
    for rank, cls in enumerate(program.order):
        version, nodes = chakra.read(f"{prefix}.{rank}.et")
        assert version
        check_order(nodes, name)
        compute = 0
        for n in nodes:
            beside = attribute(n, "is_cpu_op", "bool_val")
            if n["type"] == chakra.COMP:
                assert n["duration_micros"] > 0 and n["name"]
                compute += 0 if beside else n["duration_micros"]
                continue
            size = attribute(n, "comm_size", "int64_val")
            assert size > 0 and not beside and not n["duration_micros"]
            if n["type"] == chakra.COLL:
                kind, group = attribute(n, "comm_type", "int64_val"), attribute(n, "pg_name", "string_val")
                assert rank in groups[group]
                posted[group, rank].append((kind, size))
                kinds[kind] += 1
            else:
                sends = n["type"] == chakra.SEND
                ends = attribute(n, "comm_src", "int32_val"), attribute(n, "comm_dst", "int32_val")
                assert ends[not sends] == rank and (sends or n["type"] == chakra.RECV)
                messages[ends + (attribute(n, "comm_tag", "int32_val"),)][not sends].append(size)
        assert abs(compute - program.compute(cls) * 1e6) <= 0.6, (name, cls, compute, program.compute(cls))
    for ends, (sent, received) in messages.items():
        assert sent == received, (name, ends)
    for (group, rank), list_ in posted.items():
        assert all(posted[group, other] == list_ for other in groups[group]), (name, group)
    return kinds


def try_program(stepsim, folder, name, words, path=None):
    out = os.path.join(folder, "x")
    texts = [f"{out}.prog", f"{out}.goal", out]
    command = [stepsim, "program", "read", path] if path else [stepsim, "program", "write"] + words + ["--expanded", "-o", texts[0]]
    subprocess.run(command + ["--goal", texts[1], "--chakra", out], check=True, stdout=subprocess.DEVNULL)
    program = Program(path or texts[0])
    ranks = goal.read(texts[1])
    check_goal(program, ranks, name)
    return program, goal.read(texts[1]), check_chakra(program, out, name)


def main():
    stepsim, sources = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        kinds = {}
        for name, words in JOBS.items():
            program, ranks, kinds[name] = try_program(stepsim, folder, name, words)
            print(f"{name}: {len(ranks)} ranks, {sum(map(len, ranks))} operations")
        assert kinds["unfolded"][chakra.ALL_GATHER] and kinds["unfolded"][chakra.REDUCE_SCATTER]
        assert kinds["unfolded"][chakra.ALL_REDUCE] and kinds["all-reduced"][chakra.ALL_REDUCE]
        assert kinds["experts"][chakra.ALL_TO_ALL]
        # The example of formats-program.md, with messages that take no time: F 10, F 10 | F 12, B 24, F 12, B 24 | B 20.
        path = os.path.join(sources, "docs/guide/examples/two-ranks.prog")
        _, ranks, kinds = try_program(stepsim, folder, "by hand", [], path)
        assert [sum(op.size for op in ops if op.kind == "calc") for ops in ranks] == [60_000_000, 72_000_000]
        assert goal.run(ranks) == [102_000_000, 102_000_000]
        assert not kinds  # a text does not tell the kind of a collective: its messages stand for it
        # One iteration sends 2 x 5 MB each way, and 8 MB in its reduction.
        ranks = goal.read(os.path.join(folder, "x.goal"))
        assert sum(op.size for ops in ranks for op in ops if op.kind == "send") == 28_000_000
    print("ok")


main()

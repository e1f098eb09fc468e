# SPDX-License-Identifier: Apache-2.0
"""What must agree about one job: engines, folded and all ranks, the reference replay, levels, text form, inputs, workers.

Each check yields (name, verdict, detail); verdicts are `agrees`, `marked` (the program says that the order of equal events decides) and
`differs`.
"""
import json
import os

from lab import LEVELS, LIMIT, PRINTED, Refused, apart, has, marked, value, without

# Programs of more events are left to the engines: the reference looks at everything at every instant.
MOST_EVENTS = 12000
# What the level that a run takes of itself may be off flows of every rank (docs/design/replay-contract.md, "Levels").
LEVEL_BOUND = 0.03
# Ranks of a stage that are not alike: which of them stands for the stage is decided at each level by itself.
UNLIKE = ("--placement", "--straggler", "--slow-link", "--spread-seed", "--failed-gpu")


def verdict(off, limit, mark):
    return "agrees" if off <= limit else "marked" if mark else "differs"


def sensitivity(bench, level):
    """The largest mark of the folded job and of all its ranks. Layer level's events are those of flow level, see levels()."""
    level = "flow" if level == "layer" else level
    return max(marked(bench.run(more=["--level", level])), marked(bench.run(more=["--level", level, "--unfold"])))


def engines(replays, level, mark):
    """Both engines against each other, and event by event against the reference; folded and all ranks."""
    for name, r in zip(("folded", "all ranks"), replays):
        chaotic = mark or r.get("chaotic")
        if "error" in r or "native_error" in r:
            yield "engines, " + level, "differs", "%s: %s" % (name, r.get("message") or r.get("native_error"))
            continue
        if "simgrid_error" in r:
            # SimGrid's links know no weights: what it cannot share is refused with advice
            known = "weights" in r["simgrid_error"] or "--unfold" in r["simgrid_error"] or "native" in r["simgrid_error"]
            yield "engines, " + level, "refused" if known else "differs", "%s: %s" % (name, r["simgrid_error"])
        else:
            off = apart(r["native"], r["simgrid"])
            yield "engines, " + level, verdict(off, LIMIT, chaotic), "%s: native %.17g, simgrid %.17g: %.3g" % (
                name, r["native"], r["simgrid"], off)
        if "reference" not in r:
            yield "reference, " + level, "too long", "%s: %d events" % (name, r["events"])
            continue
        for engine in ("native", "simgrid"):
            if engine + "_off" in r:
                off = r[engine + "_off"]
                yield "reference, " + level, verdict(off, LIMIT, chaotic), "%s on %s: %.3g: %s" % (
                    name, engine, off, r[engine + "_where"])


def level_checks(bench, level, replays, mark):
    yield from engines(replays, level, mark)
    folded, every = replays
    if "native" in folded and "native" in every:
        off = apart(folded["native"], every["native"])
        yield "folding, " + level, verdict(off, LIMIT, mark or every.get("chaotic")), "folded %.17g, all ranks %.17g: %.3g" % (
            folded["native"], every["native"], off)
    answer = bench.run(more=["--level", level])
    if level != "layer":
        unfolded = bench.run(more=["--level", level, "--unfold"])
        off = apart(answer["iteration_ms"], unfolded["iteration_ms"])
        yield "folding, " + level, verdict(off, PRINTED, mark), "run %.10g ms, with --unfold %.10g" % (
            answer["iteration_ms"], unfolded["iteration_ms"])
    if has_barrier(bench.program(level, False)) and "native" in folded:
        off = apart(answer["iteration_ms"], 1e3 * folded["native"])
        yield "text form, " + level, verdict(off, PRINTED, mark), "run %.10g ms, its program %.17g s" % (
            answer["iteration_ms"], folded["native"])


def has_barrier(path):
    """Whether all wait for each other at the program's end, or it has one class; else the run is one period of a loop."""
    with open(path, encoding="utf-8") as f:
        lines = [line for line in f if line.startswith(("collective ", "class "))]
    return any(line.startswith('collective "gradient norm"') for line in lines) or sum(line.startswith("class ") for line in lines) == 1


def levels(bench, at):
    """Layer and flow are the same events; chunk and the run's own level are within the bound."""
    with open(bench.program("layer", False), "rb") as a, open(bench.program("flow", False), "rb") as b:
        same = a.read() == b.read()
    yield "layer = flow", "agrees" if same else "differs", "the programs are the same bytes"
    own, flow, chunk = bench.run(), bench.run(more=["--level", "flow", "--unfold"]), bench.run(more=["--level", "chunk"])
    mark = max(marked(own), marked(flow))
    off = apart(own["iteration_ms"], flow["iteration_ms"])
    yield "own level = flow of all ranks", "agrees" if off <= PRINTED else "bounded" if off <= LEVEL_BOUND + mark else "differs", (
        "%.10g and %.10g ms: %.3g %%" % (own["iteration_ms"], flow["iteration_ms"], 100 * off))
    off = apart(chunk["iteration_ms"], flow["iteration_ms"])
    if not has(bench.words, *UNLIKE):
        furthest, where = labels_apart(chunk, flow)
        yield "labels, chunk = flow", "agrees" if furthest <= PRINTED else "bounded" if furthest <= LEVEL_BOUND + off + mark else "differs", (
            "%s: %.3g %%" % (where, 100 * furthest))
    quiet = at["flow"][0].get("contended") == 0 and not uses_sms(bench.program("flow", False))
    if at["flow"][0].get("contended") == 0:
        name = "chunk = flow, where no flows meet" + ("" if quiet else " but kernels share SMs")
        yield name, "agrees" if off <= PRINTED else "bounded" if not quiet and off <= LEVEL_BOUND else "differs", "%.10g and %.10g ms: %.3g %%" % (
            chunk["iteration_ms"], flow["iteration_ms"], 100 * off)


def labels_apart(a, b):
    """(the furthest that a label of a stage is apart, as a share of the iteration, and which it is)."""
    return max((abs(one[label] - other[label]) / a["iteration_ms"], "stage %d, %s" % (one["stage"], label))
               for one, other in zip(a["stage_breakdown"], b["stage_breakdown"]) for label in one if label != "stage")


def uses_sms(path):
    """Whether a transfer holds SMs beside kernels."""
    with open(path, encoding="utf-8") as f:
        for line in f:
            words = line.split()
            if words and words[0] in ("collective", "channel") and float(value(words, "sm-share", "0")) > 0:
                return True
    return False


def inputs(bench):
    """`run --json` fed back by --job gives the same bytes."""
    once = bench.say(["run", "--json", "--engine", "native"] + bench.words)
    path = os.path.join(bench.folder, "result.json")
    with open(path, "wb") as out:
        out.write(once)
    again = bench.say(["run", "--job", "result.json", "--json"])
    yield "inputs", "agrees" if once == again else "differs", "run --job result.json"


def text_form(bench):
    """The program with its templates and loops, written and read, takes as long as the run."""
    path = os.path.join(bench.folder, "short.prog")
    bench.say(["program", "write", "-o", path] + bench.words)
    read = json.loads(bench.say(["program", "read", path, "--engine", "native", "--json"]))
    if has_barrier(path):
        own = bench.run()
        off = apart(read["iteration_ms"], own["iteration_ms"])
        yield "text form, templates", verdict(off, PRINTED, marked(own)), "run %.10g, its program %.10g ms" % (
            own["iteration_ms"], read["iteration_ms"])


def jitter(bench):
    """Noise is drawn by rank and slot: the same replicas on both engines, and of all ranks."""
    if bench.index % 4 != 3:
        return
    words = bench.words + ["--jitter", "0.05", "--replicas", "2", "--seed", "3", "--level", "chunk"]
    try:
        native, simgrid = (bench.run(words, engine=engine) for engine in ("native", "simgrid"))
        every = bench.run(words + ["--unfold"])
    except Refused:
        return
    for name, other in (("engines", simgrid), ("folding", every)):
        off = max(apart(native["jitter"]["iteration_ms"][k], other["jitter"]["iteration_ms"][k]) for k in ("without", "min", "max"))
        yield name + ", jitter", verdict(off, PRINTED, marked(bench.run(more=["--level", "chunk"]))), "%.3g" % off


def workers(bench):
    """One process and two give the same bytes: a sweep, replicas of jitter and, of some jobs, a search."""
    lines = []
    plain = without(bench.job.words, "--recompute")
    if bench.index % 4 == 0:
        lines.append(["sweep", "--json"] + plain + ["--vary", "recompute=none,full", "--vary", "set=ss.nic.bandwidth=12.5GBps,50GBps"])
    if bench.index % 4 == 1:
        lines.append(["run", "--json", "--engine", "native"] + bench.words + ["--jitter", "0.05", "--replicas", "4", "--seed", "7"])
    if bench.index % 16 == 2:
        lines.append(["search", "--json", "--unconfirmed"] + without(
            plain, "--tp", "--tensor-model-parallel-size", "--pp", "--pipeline-model-parallel-size", "--cp", "--context-parallel-size"))
    for line in lines:
        try:
            one, two = (bench.say(line + ["--workers", n]) for n in "12")
        except Refused:
            continue
        same = without_workers(one) == without_workers(two)
        yield "workers, " + line[0], "agrees" if same else "differs", "stepsim %s --workers 1 and 2" % " ".join(line)


def without_workers(raw):
    """The document without the words that were given, which differ by the number of workers."""
    data = json.loads(raw)
    data.pop("inputs", None)
    return json.dumps(data)


def checks(bench, most_events=MOST_EVENTS):
    """All of them."""
    paths = [bench.program(level, unfold) for level in ("chunk", "flow") for unfold in (False, True)]
    replays = bench.replays(most_events, paths)
    at = {"chunk": replays[:2], "flow": replays[2:]}
    at["layer"] = at["flow"]  # held to be the same programs, below
    for level in LEVELS:
        yield from level_checks(bench, level, at[level], sensitivity(bench, level))
    yield from levels(bench, at)
    yield from text_form(bench)
    yield from inputs(bench)
    yield from jitter(bench)
    yield from workers(bench)

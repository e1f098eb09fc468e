# SPDX-License-Identifier: Apache-2.0
"""Laws that hold of any job: what happens to its time and memory when one thing of it changes.

Each law yields (name, verdict, detail) as agree.py does. `bounded`: what has more to do ends sooner, because its transfers or kernels meet
less, and no sooner than the other would if nothing were shared (README.md, "Laws").
"""
import json
import os
import re

from lab import HERE, LIMIT, PRINTED, Refused, apart, has, marked, value, without
from generate import net_jobs

# Parts of the iteration that two laws may be off by beyond that, of tables that do not follow the links (README.md, "Laws").
CHOICE = 0.25   # NCCL takes algorithm and protocol by links that it takes to be its own, and as fast as others
CROSSING = 0.02  # a group that grows over nodes is priced by another table of NCCL's
REPLICAS = "twice the replicas are never faster"
LONGER = "longer sequences never take less time"
CHOOSES = ("shorter latencies are never slower", "faster NVLinks are never slower", "faster links between nodes are never slower",
           "narrower uplinks are never faster", "a slow link is never faster", REPLICAS, LONGER)

FASTER = (("links between nodes", "nic.bandwidth=2x"), ("NVLinks", "nvlink.bandwidth=1.5x"), ("cores", "peak=1.25x"),
          ("device memory", "hbm.bandwidth=1.5x"), ("PCIe", "pcie.bandwidth=2x"))
SHORTER = (("latencies", "latency=0.5x"), ("launches", "launch=0.5x"))
TERMS = ("weights_mib", "gradients_mib", "optimizer_mib", "activations_mib", "logits_mib", "other_mib")
RECOMPUTE = ("--recompute", "--recompute-granularity", "--recompute-method", "--recompute-num-layers", "--recompute-activations",
             "--recompute-modules", "--checkpoint-activations", "--checkpoint-num-layers", "--moe-layer-recompute")
OFFLOAD = ("--cpu-offloading", "--cpu-offloading-num-layers", "--cpu-offloading-activations", "--no-cpu-offloading-activations",
           "--cpu-offloading-weights", "--no-cpu-offloading-weights")
SEQ = ("--seq", "--seq-length", "--encoder-seq-length")
VIRTUAL = ("--vp", "--virtual-pipeline-model-parallel-size", "--num-virtual-stages-per-pipeline-rank", "--num-layers-per-virtual-pipeline-stage")
GBS = ("--gbs", "--global-batch-size")


def level(bench):
    return [[], ["--level", "chunk"], ["--level", "flow"]][bench.index % 3]


def given(words, flags):
    """The flag of these that the words have, and its value."""
    for flag in flags:
        if value(words, flag):
            return flag, value(words, flag)
    return flags[0], None


def shares_links(words):
    """Whether NCCL's groups may share links with each other, or have slow ones, which it does not know."""
    return has(words, "--placement", "--slow-link", "--rank-order", "--use-tp-pp-dp-mapping") or any(
        w.startswith(("ss.oversubscription=", "ss.nodes_per_leaf=")) for w in words)


def kept_in(bound, seconds):
    return bound <= seconds * (1 + LIMIT)


def never_less(bench, name, less, more, extra=lambda a, b: 0):
    """Words `less` never take longer than words `more`, which may be `extra` ms shorter; unless they meet what the others do not."""
    a, b, mark = both(bench, more, less)
    x, y = a["iteration_ms"], b["iteration_ms"] + extra(a, b)
    off, verdict = (x - y) / y, "agrees"
    if off > PRINTED:
        verdict = "marked" if off <= mark + PRINTED else "differs"
    detail = "%.10g and %.10g ms: %+.3g %%" % (y, x, 100 * off)
    if verdict == "differs":
        alone = [1e3 * bench.alone(words) for words in (less, more)]
        flows = b["iteration_ms"] if b["level"] == "flow" else bench.run(more, more=["--level", "flow"])["iteration_ms"]
        if kept_in(alone[0], alone[1] + extra(a, b)) and kept_in(alone[0], flows + extra(a, b)):
            verdict = "bounded"
        elif off <= (CHOICE if name in CHOOSES and shares_links(bench.words) else CROSSING if name == REPLICAS else 0):
            verdict = "bounded"
        detail += "; with nothing shared %.10g and %.10g ms" % (alone[1], alone[0])
    return name, verdict, detail


def no_more_memory(name, less, more):
    """An answer that never needs more memory than another."""
    x, y = less["memory"]["peak_mib"], more["memory"]["peak_mib"]
    off = (x - y) / y
    return name, "agrees" if off <= PRINTED else "differs", "%.10g and %.10g MiB: %+.3g %%" % (y, x, 100 * off)


def both(bench, words, base=None):
    """Answers of the job, or of the words `base`, and of other words, at the job's level; their mark. Where they take different levels of
    themselves, which may be 3 % apart, both are flows."""
    base = bench.words if base is None else base
    a, b = bench.run(base, more=level(bench)), bench.run(words, more=level(bench))
    if a["level"] != b["level"]:
        a, b = (bench.run(w, more=["--level", "flow"]) for w in (base, words))
    return a, b, marked(a) + marked(b)


def optional(law):
    """A law that says nothing of jobs of which a variant is refused."""
    def tried(bench):
        try:
            return list(law(bench))
        except Refused:
            return []
    return tried


def figures(answer):
    """What an answer says of time and memory, without names and words."""
    keys = ("verdict", "gpus", "parameters", "iteration_ms", "bubble_fraction", "exposed_communication_ms", "breakdown_ms",
            "stage_breakdown", "timers_ms", "memory", "mfu")
    return {k: answer.get(k) for k in keys}


# ---- sums ----

def sums(bench):
    """Labels of each stage are no less than 0 and sum to the iteration, terms of memory to the total; degrees multiply to the ranks."""
    answer = bench.run(more=level(bench))
    iteration = answer["iteration_ms"]
    for stage in [answer["breakdown_ms"]] + answer["stage_breakdown"]:
        off = apart(sum(ms for label, ms in stage.items() if label != "stage"), iteration)
        label = min((label for label in stage if label != "stage"), key=stage.get)
        yield "no label is negative", "agrees" if stage[label] >= 0 else "differs", "%s: %s %.3g ms" % (stage.get("stage", "all"), label, stage[label])
        # a dozen labels, each rounded at its tenth digit
        yield "labels sum to the iteration", "agrees" if off <= 1e-8 else "differs", "%s: %.3g" % (stage.get("stage", "all"), off)
    memory = answer["memory"]
    for stage in memory["stages"]:
        off = apart(sum(stage[t] for t in TERMS), stage["total_mib"])
        yield "terms sum to the memory", "agrees" if off <= 1e-8 else "differs", "stage %d: %.3g" % (stage["stage"], off)
    off = apart(memory["peak_mib"], max(stage["total_mib"] for stage in memory["stages"]))
    yield "the peak is the largest stage's", "agrees" if off <= 1e-8 else "differs", "%.10g" % memory["peak_mib"]
    plan = json.loads(bench.say(["plan", "--json"] + bench.job.words))
    sizes = {name: plan["groups"][name]["size"] for name in ("tp", "cp", "pp") if name in plan["groups"]}
    ranks = plan["dp"]
    for size in sizes.values():
        ranks *= size
    yield "degrees multiply to the ranks", "agrees" if ranks == plan["world_size"] == answer["gpus"] else "differs", "%s dp %d: %d of %d" % (
        sizes, plan["dp"], ranks, plan["world_size"])


# ---- the same job in other words ----

def order_of_words(bench):
    """Flags in another order, those that are repeated in theirs: the same figures."""
    groups, place = [], {}
    for w in bench.words:
        if w.startswith("--"):
            groups.append([w])
        else:
            groups[-1].append(w)
    for g in groups:
        place.setdefault(g[0], []).append(g)
    draw = net_jobs.Draw("order", bench.index)
    words = [w for flag in draw.shuffled([g[0] for g in groups]) for w in place[flag].pop(0)]
    if "--job" in bench.words:
        return
    a, b, _ = both(bench, words)
    yield "words in another order", "agrees" if figures(a) == figures(b) else "differs", " ".join(words)


def rescale(text):
    """Bandwidths, latencies and sizes of a platform's file in other units."""
    def other(found):
        number, unit = float(found[1]), found[2]
        if unit in ("GBps", "TBps"):
            return '="%.17gGbps"' % (number * (8 if unit == "GBps" else 8000))
        if unit in ("Gbps", "Mbps"):
            return '="%.17gkBps"' % (number * (125000 if unit == "Gbps" else 125))
        if unit in ("ns", "us", "ms"):
            return '="%.17g%s"' % (number * 1000, {"ns": "ps", "us": "ns", "ms": "us"}[unit])
        if unit in ("GiB", "TiB"):
            return '="%.17gMiB"' % (number * (1024 if unit == "GiB" else 1 << 20))
        return '="%.17gGf"' % (number * (1000 if unit == "Tf" else 1e6))
    return re.sub(r'="([0-9.]+)(GBps|TBps|Gbps|Mbps|ns|us|ms|GiB|TiB|Tf|Pf)"', other, text)


def platform_text(bench):
    """The platform's file and its text."""
    name = value(bench.words, "--platform")
    trees = (bench.binary.root, os.path.dirname(os.path.dirname(HERE))) # a build may stand outside of its tree
    paths = [os.path.join(bench.folder, name)] if name.endswith(".xml") else [os.path.join(t, "platforms", name + ".xml") for t in trees]
    with open(next(filter(os.path.exists, paths), paths[0]), encoding="utf-8") as f:
        return name, f.read()


def with_platform(bench, words, file, text):
    """The words on another platform; each has a file of its own, for answers are kept by words."""
    with open(os.path.join(bench.folder, file), "w", encoding="utf-8") as f:
        f.write(text)
    return words + ["--platform", file]


def units(bench):
    if not value(bench.words, "--platform"):
        return
    _, text = platform_text(bench)
    a, b, _ = both(bench, with_platform(bench, bench.words, "units.xml", rescale(text)))
    yield "platform in other units", "agrees" if figures(a) == figures(b) else "differs", "%.10g and %.10g ms" % (
        a["iteration_ms"], b["iteration_ms"])


def names(bench):
    """Hosts and links of a platform of the job's own by other names, links and routes in another order."""
    name = value(bench.words, "--platform") or ""
    if not name.startswith("own"):
        return
    text = platform_text(bench)[1]
    for old, new in (('"gpu-', '"zz-worker-'), ('"switch-', '"aa-hub-'), ('"spine', '"core'), ('"nvlink-', '"nvlink-of-'),
                     ('"nic-', '"nic-of-'), ('"pcie-', '"bus-')):
        text = text.replace(old, new)
    lines, draw = text.split("\n"), net_jobs.Draw("names", bench.index)
    for kind in ("<link ", "<route "):
        at = [i for i, line in enumerate(lines) if line.lstrip().startswith(kind)]
        for i, line in zip(at, draw.shuffled([lines[i] for i in at])):
            lines[i] = line
    words = [re.sub("^(nvlink|nic)-", r"\1-of-", w) if bench.words[i - 1] == "--slow-link" else w for i, w in enumerate(bench.words)]
    a, b, mark = both(bench, with_platform(bench, words, "names.xml", "\n".join(lines)))
    off = apart(a["iteration_ms"], b["iteration_ms"])
    yield "hosts and links by other names", "agrees" if off <= PRINTED else "marked" if mark else "differs", "%.10g and %.10g ms" % (
        a["iteration_ms"], b["iteration_ms"])


def steady(bench):
    """What a steady state lets the engine leave out changes nothing; neither does jitter of nothing."""
    a, b, mark = both(bench, bench.words + ["--full-replay"])
    off = apart(a["iteration_ms"], b["iteration_ms"])
    yield "--full-replay", "agrees" if off <= PRINTED else "marked" if mark else "differs", "%.10g and %.10g ms" % (
        a["iteration_ms"], b["iteration_ms"])


# ---- faster parts, slower parts ----

def faster(part, scale, name):
    def law(bench):
        yield never_less(bench, name % part, bench.words + ["--scale", scale], bench.words)
    return law


def slower(bench):
    """A straggler and a slow link never make it faster."""
    rank = net_jobs.Draw("slower", bench.index).below(bench.run()["gpus"])
    if not has(bench.words, "--straggler"):
        words = bench.words + ([] if has(bench.words, "--spread-seed") else ["--spread", "0"])
        yield never_less(bench, "a straggler is never faster", words, words + ["--straggler", "%d:1.3" % rank])


def slow_link(bench):
    if not has(bench.words, "--slow-link"):
        yield never_less(bench, "a slow link is never faster", bench.words, bench.words + ["--slow-link", "nic-0-0:3"])


def uplinks(bench):
    if "--job" in bench.words:
        return
    ratio = next((w.split("=")[1] for w in bench.words if w.startswith("ss.oversubscription=")), "1")
    yield never_less(bench, "narrower uplinks are never faster", bench.words,
                     bench.words + ["--set", "ss.oversubscription=%g" % (2 * float(ratio))])


# ---- more work ----

def kernels(answer):
    """Time of the busiest stage's kernels alone on the card."""
    return sum(row["ms"] for row in answer["compute"]["rows"] if row["label"] == "compute" and row["part"] != "beside_others")


def replicas(bench):
    """Twice the data-parallel replicas and the batch: kernels take as long, and nothing but the optimizer's shards gets shorter."""
    flag, gbs = given(bench.words, GBS)
    nodes = value(bench.words, "--nodes")
    if not gbs or not nodes or has(bench.words, "--placement", "--spread-seed", "--job", "--rank-order", "--use-tp-pp-dp-mapping",
                                       "--straggler", "--slow-link"):
        return
    words = bench.words + ["--spread", "0"]
    more = words + ["--nodes", str(2 * int(nodes)), flag, str(2 * int(gbs))]
    a, b, _ = both(bench, more, words)
    sharded = any("fsdp" in w for w in bench.words)  # whose copies of parameters are kernels, too
    if a["critical_stage"] == b["critical_stage"] and not sharded:
        x, y = kernels(a), kernels(b)
        off = apart(x, y)
        yield "twice the replicas: kernels take as long", "agrees" if off <= 1e-8 else "differs", "%.10g and %.10g ms" % (x, y)
    # on slow NVLinks what moves to another node, as a next stage does, is sooner there
    if not any(w.startswith("ss.nvlink.bandwidth=") for w in words):
        yield never_less(bench, REPLICAS, words, more, shards)


def shards(a, b):
    """What the step is shorter because it is divided by more replicas, ms."""
    return max(0, max(x["optimizer"] - y["optimizer"] for x, y in zip(a["stage_breakdown"], b["stage_breakdown"])))


def microbatches(bench):
    flag, gbs = given(bench.words, GBS)
    if not gbs or "--job" in bench.words:
        return
    plan = json.loads(bench.say(["plan", "--json"] + bench.job.words))
    pp = plan["groups"]["pp"]["size"] if "pp" in plan["groups"] else 1
    more = bench.words + [flag, str(int(gbs) // plan["microbatches"] * (plan["microbatches"] + pp))]
    yield never_less(bench, "more microbatches never take less time", bench.words, more)
    # Megatron core 0.8 interleaved with as many microbatches as ranks: all are warm-up, which keeps more than any other number does
    if not (plan["microbatches"] == pp and given(bench.words, VIRTUAL)[1]):
        yield no_more_memory("more microbatches never take less memory", *both(bench, more)[:2])


def sequence(bench):
    flag, seq = given(bench.words, SEQ)
    if not seq or "--job" in bench.words:
        return
    words = without(bench.words, "--max-position-embeddings") + ["--max-position-embeddings", str(max(4 * int(seq), 16384))]
    more = words + [flag, str(2 * int(seq))]
    yield never_less(bench, LONGER, words, more)
    yield no_more_memory("longer sequences never take less memory", *both(bench, more, words)[:2])


def skew(bench):
    if not has(bench.words, "--num-experts") and not has(bench.words, "--ep", "--moe-token-dispatcher-type", "--moe-load"):
        return
    if has(bench.words, "--moe-expert-capacity-factor", "--moe-router-force-biased", "--moe-router-force-load-balancing"):
        return
    words = without(bench.words, "--moe-load")
    more = words + ["--moe-load", ("zipf:0.5", "W1_hot_expert_set", "uniform")[bench.index % 3]]
    yield never_less(bench, "uneven loads of experts are never faster", words, more, tiles)


def tiles(a, b):
    """What kernels of all stages take less with other numbers of tokens, ms: an expert's last tile is filled by chance."""
    return sum(max(0, sum(x[k] - y[k] for k in ("compute", "recompute", "spread"))) for x, y in zip(a["stage_breakdown"], b["stage_breakdown"]))


def recompute(bench):
    """Without layers offloaded to the host, which full recompute turns off: it would take their copies away."""
    if any("--cpu-offloading" in text for text in bench.job.files.values()):
        return
    words = without(bench.words, *RECOMPUTE, *OFFLOAD)
    more = words + ["--recompute", "full"]
    yield never_less(bench, "recompute never takes less time", words, more)
    a, b, _ = both(bench, more, words)
    yield no_more_memory("recompute never takes more memory", b, a)


LAWS = [sums, order_of_words, units, names, steady, slower, slow_link, uplinks, replicas, microbatches, sequence, skew, recompute]
LAWS += [faster(part, scale, "faster %s are never slower") for part, scale in FASTER]
LAWS += [faster(part, scale, "shorter %s are never slower") for part, scale in SHORTER]


def checks(bench):
    """All of them."""
    for law in LAWS:
        yield from optional(law)(bench)

# SPDX-License-Identifier: Apache-2.0
"""Random jobs from a seed, for the tests that want whole jobs: contention.py, levels.py, experts.py and laws/.

KINDS are what they look for: `contended` (flows that meet), `mixture` (experts), `shared` (collectives that share links), `net` (the
jobs of tests/net) and `small` (everything that a job may have, small enough for every rank to be simulated by each engine and by the
reference). Some are refused; who wants jobs that run leaves those out. Words are those of `stepsim run`; files that they name are in
Job.files, and have to be in the folder that the program runs in.
"""
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "net"))

import files as net_files  # noqa: E402
import jobs as net_jobs  # noqa: E402

LOADS = ("uniform", "zipf:0.1", "zipf:0.5", "zipf:1.5", "biased:0.5", "W1_hot_expert_set", "W3_spread_hot_experts", "W4_source_ragged",
         "W5_zero_expert_rank", "W6_rotating_hotspot", "W7_burst")
CONTENDED_PLATFORMS = ("h100", "h800", "h20", "a100-hdr800", "h200")
SHARED_PLATFORMS = ("h100", "h200", "a100-roce400", "a100", "h20")
# Of `small`: platform, weight. A name may have fewer GPUs a node by --gpus-per-node; "own" are files, some with PCIe alone.
PLATFORMS = (("h100", 6), ("h800", 4), ("h20", 3), ("a100", 4), ("b200", 4), ("h200", 2), ("a100-roce400", 3), ("a100-hdr800", 2),
             ("b300", 1), ("gb200", 3), ("v100", 2), ("v100-32g-dgx2", 1), ("own", 4))
NAMED = ("llama3.1-8b", "qwen2.5-14b", "gpt2-7.5b", "gemma-2-2b", "gemma-3-4b", "falcon-7b", "qwen3-4b", "olmo-2-7b", "bloom-7b1", "phi-2",
         "opt-6.7b", "mistral-7b", "llama2-13b")
NAMED_MIXTURES = ("qwen3-30b-a3b", "mixtral-8x7b", "deepseek-v2-lite", "olmoe-1b-7b", "gpt-oss-20b", "qwen1.5-moe-a2.7b", "glm-4.5-air",
                  "moonlight-16b", "llama4-scout")


class Job:
    """Words of `stepsim run` in two lists, those of the job and those of how it is simulated, and files that they name."""

    def __init__(self, words, sim=(), files=None, seen=()):
        self.words, self.sim, self.files = [str(w) for w in words], [str(w) for w in sim], dict(files or {})
        self.seen = set(seen)  # what a coverage counts: ("platform", "h800")

    def write(self, folder):
        """Puts the files there."""
        for name, text in self.files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                out.write(text)


def placement(draw, world):
    """A file that puts ranks on GPUs, eight a node, in a random order."""
    gpus = list(range(world))
    draw.shuffle(gpus)
    return "".join("gpu %d %d\n" % divmod(gpu, 8) for gpu in gpus)


def contended(draw, index):
    """Something makes flows meet: shuffled placements, oversubscribed uplinks, slow links, stragglers."""
    nodes = draw.choice([2, 2, 4])
    world, files, sim = 8 * nodes, {}, []
    tp = draw.choice([1, 2, 4, 8])
    pp = draw.choice([n for n in (1, 2, 4) if world % (tp * n) == 0])
    cp = draw.choice([n for n in (1, 1, 2) if world % (tp * pp * n) == 0])
    dp = world // (tp * pp * cp)
    vp = draw.choice([1, 2]) if pp > 1 else 1
    words = ["--platform", draw.choice(CONTENDED_PLATFORMS), "--nodes", nodes, "--hidden-size", 2048, "--num-attention-heads", 16,
             "--num-query-groups", 16, "--ffn-hidden-size", 8192, "--vocab-size", 32000, "--num-layers", pp * vp * 2,
             "--swiglu", "--disable-bias-linear", "--tp", tp, "--pp", pp, "--cp", cp, "--seq", 2048, "--max-position-embeddings", 4096, "--mbs", 1,
             "--gbs", dp * pp * draw.choice([1, 2]), "--bf16"]
    if tp > 1 and draw.random() < 0.8:
        words += ["--sequence-parallel"]
    if vp > 1:
        words += ["--num-virtual-stages-per-pipeline-rank", vp]
    if cp > 1:
        words += ["--cp-comm-type", draw.choice(["p2p", "a2a", "allgather"])]
    if draw.random() < 0.7:
        words += ["--use-distributed-optimizer"]
        words += ["--overlap-grad-reduce", "--overlap-param-gather"] if draw.random() < 0.7 else []
    if draw.random() < 0.7:
        files["job%d.place" % index] = placement(draw, world)
        sim += ["--placement", "job%d.place" % index]
    if draw.random() < 0.7:
        words += ["--set", "ss.nodes_per_leaf=1", "--set", "ss.oversubscription=%g" % draw.choice([1, 2, 3.5, 4])]
    if draw.random() < 0.3:
        sim += ["--straggler", "%d:%g" % (draw.randrange(world), draw.choice([1.1, 2]))]
    if draw.random() < 0.3:
        sim += ["--slow-link", "nic-%d-0:%g" % (draw.randrange(nodes), draw.choice([1.5, 3]))]
    return Job(words, sim, files)


def shared_model(draw, tp):
    """A mixture or a dense model, and how much context parallelism is part of it."""
    if draw.random() < 0.4:
        return 1, ["--model", "qwen3-30b-a3b", "--num-layers", 8, "--etp", 1, "--ep", draw.choice([4, 8, 16, 32]),
                   "--moe-token-dispatcher-type", draw.choice(["alltoall", "flex", "allgather"])]
    cp = draw.choice([1, 1, 2, 4, 8])
    words = ["--model", "gpt2-7.5b", "--num-layers", 8, "--max-position-embeddings", 4096]
    if cp > 1:
        words += ["--cp", cp, "--cp-comm-type", draw.choice(["p2p", "a2a", "all_gather"])]
    if draw.random() < 0.2 and tp < 16:
        words += ["--fsdp", "full"]
    return cp, words


def shared(draw, index):
    """Tensor, context and expert groups over nodes; None where its ranks do not divide the GPUs."""
    nodes, files, sim = draw.choice([2, 4, 8]), {}, []
    tp, pp = draw.choice([1, 2, 4, 8, 16]), draw.choice([1, 2, 4])
    cp, words = shared_model(draw, tp)
    if 8 * nodes % (tp * cp * pp):
        return None
    words += ["--platform", draw.choice(SHARED_PLATFORMS), "--nodes", nodes, "--bf16", "--mbs", 1, "--seq", 4096, "--tp", tp, "--pp", pp,
              "--use-distributed-optimizer", "--gbs", 8 * nodes // (tp * cp * pp) * draw.choice([2, 4, 8])]
    if tp > 1:
        words += ["--sequence-parallel"]
    if draw.random() < 0.7:
        words += ["--set", "ss.oversubscription=%g" % draw.choice([2, 3.5, 4]),
                  "--set", "ss.nodes_per_leaf=%d" % draw.choice([n for n in (1, 2, 4) if n <= nodes])]
    if draw.random() < 0.5:
        words += ["--set", "ss.nccl.pat=1", "--set", "ss.nccl.nvls_tree=1"]
    if draw.random() < 0.2:
        sim += ["--slow-link", draw.choice(["nic-0-1:4", "nvlink-0-1:3", "nic-1-0:2"])]
    if draw.random() < 0.3:
        files["job%d.place" % index] = placement(draw, 8 * nodes)
        sim += ["--placement", "job%d.place" % index]
    return Job(words, sim, files)


def mixture(draw, _index=0):
    """A mixture of experts that Megatron accepts, small enough for every rank to be simulated."""
    nodes = draw.choice([1, 2, 4])
    world = 8 * nodes
    tp = draw.choice([1, 1, 2, 4])
    pp = draw.choice([n for n in (1, 1, 2, 4) if tp * n <= world])
    cp = draw.choice([1, 1, 2]) if world // (tp * pp) >= 2 else 1
    etp = draw.choice([1, tp])
    room = world // (pp * etp)
    ep = draw.choice([n for n in (1, 2, 4, 8, 16, 32) if n <= room])
    dp = world // (tp * pp * cp)
    vp = draw.choice([1, 2]) if pp > 1 else 1
    micro = draw.choice([1, 2])
    experts = draw.choice([n for n in (8, 16, 64) if n % ep == 0] or [64])
    layers = pp * vp * draw.choice([1, 2])
    words = ["--platform", draw.choice(["h100", "h800", "h20"]), "--nodes", nodes, "--hidden-size", 1024,
             "--num-attention-heads", 16, "--num-query-groups", 4, "--ffn-hidden-size", 2816, "--vocab-size", 32000,
             "--num-layers", layers, "--swiglu", "--disable-bias-linear", "--normalization", "RMSNorm",
             "--position-embedding-type", "rope", "--untie-embeddings-and-output-weights", "--num-experts", experts,
             "--moe-router-topk", draw.choice([1, 2, 4]), "--moe-ffn-hidden-size", draw.choice([512, 1408]),
             "--tp", tp, "--pp", pp, "--cp", cp, "--ep", ep, "--etp", etp, "--seq", 2048, "--mbs", micro,
             "--gbs", micro * dp * pp * draw.choice([1, 2]), "--bf16", "--use-distributed-optimizer",
             "--set", "ss.default.dispatcher=" + draw.choice(["allgather", "alltoall", "deepep", "hybridep"])]
    if tp > 1:
        words += ["--sequence-parallel"]
    if vp > 1:
        words += ["--num-virtual-stages-per-pipeline-rank", vp]
    if draw.random() < 0.5:
        words += ["--overlap-grad-reduce", "--overlap-param-gather"]
    if draw.random() < 0.3:
        words += ["--moe-shared-expert-intermediate-size", 1408]
    if draw.random() < 0.3:
        words += ["--set", "ss.oversubscription=2", "--set", "ss.nodes_per_leaf=1"]
    if draw.random() < 0.6:
        words += ["--moe-load", draw.choice(LOADS)]
    if ep * etp > 1 and "ss.default.dispatcher=allgather" not in words:
        words += exchange_overlap(draw, words, pp, vp, ep)
    if pp == 1 and draw.random() < 0.4:
        words += ["--fsdp", draw.choice(["full", "hybrid", "hybrid"])]
    return Job(words)


def exchange_overlap(draw, words, pp, vp, ep):
    """Kernels beside the exchanges: a pair of microbatches, or shared experts."""
    kind = draw.choice(["none", "pairs", "pairs", "delayed", "shared"])
    if kind == "shared" and "--moe-shared-expert-intermediate-size" in words:
        return ["--moe-shared-expert-overlap"]
    if kind not in ("pairs", "delayed") or ep == 1 or (pp > 1 and vp == 1):
        return []
    more = ["--overlap-moe-expert-parallel-comm"] + (["--delay-wgrad-compute"] if kind == "delayed" else [])
    return more + (["--moe-flex-dispatcher-num-sms", 20] if draw.random() < 0.5 else [])


# ---- small: the parts of the net's jobs, on few ranks, of few layers, and experts ----


def weighted(d, pairs):
    at = d.below(sum(weight for _, weight in pairs))
    for item, weight in pairs:
        if at < weight:
            return item
        at -= weight
    return pairs[-1][0]


def small_cluster(d, job):
    """GPUs, GPUs a node, name of the platform; 4 to 64 GPUs."""
    name = weighted(d, PLATFORMS)
    job.seen.add(("platform", name))
    if name == "own":
        world, gpus = net_files.cluster(d, job)
        job.own = True
        return world, gpus, name
    most = {"gb200": 4, "v100": 4, "v100-32g-dgx2": 16}.get(name, 8)
    world = weighted(d, ((4, 2), (8, 6), (16, 8), (32, 3), (64, 1)))
    gpus = min(most, world)
    if d.chance(0.15):
        gpus = d.pick([n for n in (1, 2, 4, 8) if n <= gpus])
    nodes = world // gpus
    job.words += ["--platform", name, "--nodes", str(nodes), "--gpus-per-node", str(gpus)]
    if nodes > 1 and d.chance(0.4):
        job.words += ["--set", "ss.oversubscription=" + d.pick(["1", "1.5", "2", "4", "8"]),
                      "--set", "ss.nodes_per_leaf=" + d.pick([str(n) for n in (1, 2, 4) if n <= nodes])]
    if d.chance(0.05):
        net_jobs.contention(d, job)
    return world, gpus, name


def small_model(d, job):
    """A model of few layers, dense or a mixture, by flags or by name; returns its shape."""
    m = {"name": "", "layers": d.pick([2, 4, 4, 6, 8]), "heads": d.pick([8, 16]), "experts": 0, "rope": True}
    m["groups"] = m["heads"]
    if d.chance(0.35):
        m["name"] = d.pick(NAMED_MIXTURES if d.chance(0.4) else NAMED)
        m["experts"] = 16 if m["name"] in NAMED_MIXTURES else 0
        m["groups"] = m["heads"] = {"falcon-7b": 1, "gemma-2-2b": 4, "gemma-3-4b": 4, "qwen3-30b-a3b": 4}.get(m["name"], 8)
        job.words += ["--model", m["name"], "--num-layers", str(m["layers"])]
        job.seen.add(("model", m["name"]))
        return m
    w = ["--num-layers", str(m["layers"]), "--hidden-size", str(m["heads"] * d.pick([64, 128])), "--num-attention-heads", str(m["heads"]),
         "--vocab-size", d.pick(["32000", "50257", "128256"])]
    if d.chance(0.5):
        m["groups"] = d.pick([2, 4, 8])
        w += ["--group-query-attention", "--num-query-groups", str(m["groups"])]
    w += ["--position-embedding-type", "rope"] if d.chance(0.7) else ["--max-position-embeddings", "16384"]
    w += d.pick([["--swiglu"], ["--swiglu"], []])
    for flag, p in (("--untie-embeddings-and-output-weights", 0.5), ("--disable-bias-linear", 0.5), ("--add-qkv-bias", 0.2)):
        w += [flag] if d.chance(p) else []
    w += ["--normalization", "RMSNorm"] if d.chance(0.6) else []
    if d.chance(0.3):
        m["experts"] = d.pick([8, 16, 32])
        w += ["--disable-bias-linear"] if "--disable-bias-linear" not in w else []
        w += ["--swiglu"] if "--swiglu" not in w else []
        w += ["--num-experts", str(m["experts"]), "--moe-router-topk", d.pick(["1", "2", "4"]),
              "--moe-ffn-hidden-size", d.pick(["256", "512", "1408"])]
        w += ["--moe-shared-expert-intermediate-size", "1024"] if d.chance(0.3) else []
        w += ["--moe-layer-freq", "2"] if d.chance(0.1) else []
    job.words += w
    job.seen.add(("model", "a mixture by flags" if m["experts"] else "dense by flags"))
    return m


def small_experts(d, job, m, world, tp, pp):
    """Expert parallelism, dispatcher, load and what runs beside the exchanges."""
    etp = d.pick([1, 1, tp if pp * tp <= world else 1])
    ep = d.pick([n for n in (1, 2, 4, 8, 16) if m["experts"] % n == 0 and n * etp * pp <= world])
    w = ["--ep", str(ep), "--etp", str(etp)]
    kind = d.pick([["alltoall"], ["alltoall"], ["allgather"], ["flex"], ["flex", "--moe-flex-dispatcher-backend", "hybridep"], []])
    w += ["--moe-token-dispatcher-type"] + kind if kind else []
    w += ["--moe-load", d.pick(LOADS)] if d.chance(0.4) else []
    w += ["--moe-grouped-gemm"] if d.chance(0.6) else []
    w += ["--sequence-parallel"] if tp > 1 else []
    w += ["--moe-expert-capacity-factor", d.pick(["1", "1.5"])] if d.chance(0.1) else []
    if ep * etp > 1 and kind != ["allgather"] and d.chance(0.3):
        w += d.pick([["--overlap-moe-expert-parallel-comm"], ["--overlap-moe-expert-parallel-comm", "--delay-wgrad-compute"],
                     ["--moe-shared-expert-overlap"]])
    job.words += w
    job.seen |= {("experts", "ep %d" % ep), ("experts", kind[-1] if kind else "dispatcher of the stack")}


def small_simulation(d, job, world, gpus, name):
    """Placements, stragglers, slow links."""
    if world > gpus and d.chance(0.15):
        net_files.placement(d, job, world, gpus)
        job.seen.add(("simulation", "--placement"))
    if d.chance(0.15):
        job.sim += ["--straggler", "%d:%s" % (d.below(world), d.pick(["1.05", "1.2", "2"]))]
        job.seen.add(("simulation", "--straggler"))
    if d.chance(0.15):
        job.sim += ["--slow-link", net_jobs.link_name(d, job, world, gpus, name == "v100") + ":" + d.pick(["1.5", "2", "10"])]
        job.seen.add(("simulation", "--slow-link"))
    if d.chance(0.08):
        job.sim += ["--spread-seed", str(d.below(100))]
        job.seen.add(("simulation", "--spread-seed"))


def small(seed, index, names):
    """Everything that a job may have, in 4 to 64 ranks and few microbatches."""
    d, job = net_jobs.Draw("small", seed, index), net_jobs.Job(index)
    job.level, job.engine = "flow", "simgrid"  # which keep the net's microbatches few
    world, gpus, name = small_cluster(d, job)
    stack = d.pick(names["stacks"]) if d.chance(0.4) else "megatron-2407"
    if stack != "megatron-2407":
        job.words += ["--stack", stack]
    job.seen.add(("stack", stack))
    te = not stack.startswith(net_jobs.NO_TE)
    m = small_model(d, job)
    tp, pp, cp, dp = net_jobs.degrees(d, job, m, world, min(gpus, 8), te)
    if m["experts"]:
        small_experts(d, job, m, world, tp, pp)
    net_jobs.batch(d, job, tp, cp, dp, net_jobs.pipeline(d, job, m, pp, world, names), m)
    precision = net_jobs.precision(d, job, name[:4], te or stack.startswith(net_jobs.OWN_FP8))
    net_jobs.features(d, job, m, tp, pp, cp, precision, te)
    if d.chance(0.15):
        net_jobs.props(d, job, names)
    small_simulation(d, job, world, gpus, name)
    for axis, n in (("tp", tp), ("pp", pp), ("cp", cp), ("dp", dp), ("ranks", world)):
        job.seen.add((axis, "%d" % n))
    return Job(job.words, job.sim, job.files, job.seen)


def net(seed, index, names):
    """A job of tests/net, without those of many nodes, many microbatches or all layers of a large model."""
    job = net_jobs.make("small " + str(seed), index * 11 + 1, names)
    sim = [w for w in job.sim if w not in ("--unfold", "--level", "chunk", "layer", "flow")]
    whole = "--model" in job.words and not {"--num-layers", "--encoder-num-layers"} & set(job.words)
    return None if job.long or whole else Job(job.words, sim, job.files, job.seen)


KINDS = (("small", 10), ("net", 2), ("contended", 2), ("mixture", 3), ("shared", 1))


def make(seed, index, names):
    """Job `index` of `seed`, or None where its kind has none there. names: those of net.names_of."""
    kind = weighted(net_jobs.Draw("kind", seed, index), KINDS)
    if kind in ("small", "net"):
        job = {"small": small, "net": net}[kind](seed, index, names)
    else:
        draw = random.Random("%s/%s/%d" % (kind, seed, index))
        job = {"contended": contended, "mixture": mixture, "shared": shared}[kind](draw, index)
    if job:
        job.seen.add(("kind", kind))
    return job

# SPDX-License-Identifier: Apache-2.0
"""The jobs of the net: random, small, from a seed; the same words on every machine.

Only Random.random() is used, whose sequence Python keeps over its releases. Each job has a generator of
its own, seeded by (seed, index), so that job 17 is the same however many are asked for.
"""
import random

import files
from words import FREE, NO_TE, OTHER, OWN_FP8, PROPS


class Draw:
    """Choices of one job."""

    def __init__(self, *seed):
        self.random = random.Random("/".join(map(str, seed))).random

    def below(self, n):
        return int(self.random() * n)

    def pick(self, items):
        return items[self.below(len(items))]

    def chance(self, p):
        return self.random() < p

    def shuffled(self, items):
        items = list(items)
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
        return items


class Job:
    """One job: `words` describe it, `sim` says how it is simulated, `run` are words that only `run` has."""

    def __init__(self, index):
        self.index = index
        self.words, self.sim, self.run = [], [], []
        self.files = {}  # name -> text, written to the folder that the program runs in
        self.seen = set()  # what the coverage counts: ("platform", "h800"), ...
        self.level = self.engine = ""
        self.big = self.own = self.long = False  # many nodes, a platform of its own, many microbatches


def divisors(n, most):
    return [d for d in range(1, most + 1) if n % d == 0]


def cluster(d, job, names):
    """Platform and nodes; returns the number of GPUs, and of those of a node."""
    platform = names["platforms"][job.index % len(names["platforms"])]
    name, gpus = platform["name"], platform["gpus"]
    if not job.big and d.chance(0.04):
        world, gpus = files.cluster(d, job)
        return world, gpus, "a platform of its own"
    if d.chance(0.05):
        files.variant(job, name)
    else:
        job.words += ["--platform", name]
    job.seen.add(("platform", name))
    if job.big:
        nodes = d.pick([16, 32, 64, 128, 256, 512, 1024, 2048])
        nodes = min(nodes, 16384 // gpus)
    else:
        nodes = d.pick([1, 1, 2, 2, 2, 3, 4, 4, 4, 6, 8, 8])
        nodes = max(1, min(nodes, 64 // gpus))
    if not job.big and d.chance(0.12):
        gpus = d.pick([n for n in (1, 2, 4, 8) if n <= gpus])
        job.words += ["--gpus-per-node", str(gpus)]
        job.seen.add(("size", "--gpus-per-node"))
    job.words += ["--nodes", str(nodes)]
    return nodes * gpus, gpus, name


def model(d, job, names):
    """A model by name, by flags, or a named one with a flag on top; returns its shape."""
    if d.chance(0.06):
        return files.model(d, job)
    if d.chance(0.7):
        known = [m for m in names["models"] if job.big or d.chance(0.35) or m["hidden"] <= 4096]
        m = dict(d.pick(known))
        job.words += ["--model", m["name"]]
        job.seen.add(("model", m["name"]))
        m["rope"] = not m["name"].startswith("gpt")
        if d.chance(0.3):
            m["layers"] = d.pick([4, 6, 8, 12, 16])
            job.words += [d.pick(["--num-layers", "--encoder-num-layers"]), str(m["layers"])]
        return m
    heads = d.pick([8, 16, 32])
    m = {"name": "", "layers": d.pick([4, 6, 8, 12, 24]), "hidden": heads * d.pick([64, 128]), "heads": heads,
         "groups": heads, "rope": d.chance(0.7)}
    m["ffn"] = d.pick([2, 3, 4]) * m["hidden"]
    w = [d.pick(["--num-layers", "--encoder-num-layers"]), str(m["layers"]), "--hidden-size", str(m["hidden"]),
         "--num-attention-heads", str(heads)]
    if d.chance(0.6):
        w += ["--ffn-hidden-size", str(m["ffn"])]
    if d.chance(0.5):
        m["groups"] = d.pick([g for g in (2, 4, 8) if heads % g == 0])
        w += ["--num-query-groups", str(m["groups"])] + (["--group-query-attention"] if d.chance(0.5) else [])
    elif d.chance(0.2):
        m["groups"] = 1
        w += ["--group-query-attention"]
    w += d.pick([["--vocab-size", "50257"], ["--padded-vocab-size", "65536"], ["--tokenizer-type", "GPT2BPETokenizer"],
                 ["--vocab-size", "32000", "--extra-vocab-size", "64"], ["--patch-tokenizer-type", "LLama2Tokenizer"],
                 ["--vocab-size", "128256", "--make-vocab-size-divisible-by", "256"],
                 ["--vocab-size", "1000", "--tokenizer-type", "NullTokenizer"]])
    if m["rope"]:
        w += d.pick([["--position-embedding-type", "rope"], ["--use-rotary-position-embeddings"],
                     ["--use-llama2-rotary-position-embeddings"], ["--position-embedding-type", "yarn"],
                     ["--use-rotary-position-embeddings", "--no-position-embedding"],
                     ["--position-embedding-type", "none"]])
    else:
        w += ["--max-position-embeddings", "8192"] + d.pick([[], ["--position-embedding-type", "learned_absolute"]])
    w += d.pick([["--swiglu"], ["--swiglu"], ["--quick-geglu"], []])
    for flag, values in (("--untie-embeddings-and-output-weights", None), ("--disable-bias-linear", None),
                         ("--add-qkv-bias", None), ("--normalization", ["RMSNorm", "LayerNorm"]),
                         ("--kv-channels", ["64", "128"])):
        if d.chance(0.4):
            w += [flag] + ([d.pick(values)] if values else [])
    job.words += w
    job.seen.add(("model", "by flags"))
    return m


def degrees(d, job, m, world, gpus, te):
    """Tensor, pipeline and context parallel sizes that the cluster and the model allow."""
    most = 16 if job.big else 8
    fits = [t for t in divisors(m["heads"], 8) if m["groups"] % t == 0 and t <= gpus and world % t == 0]
    tp = d.pick(fits)
    if job.big and d.chance(0.7):
        tp = fits[-1]
    left = world // tp
    layers = m["layers"]
    fits = [p for p in divisors(left, most) if p <= layers]
    even = [p for p in fits if layers % p == 0]
    pp = d.pick(even if d.chance(0.8) else fits)
    left //= pp
    cp = d.pick([c for c in (1, 2, 4) if left % c == 0 and (te or c == 1)]) if d.chance(0.35) else 1
    for n, names in ((tp, ("--tp", "--tensor-model-parallel-size")), (pp, ("--pp", "--pipeline-model-parallel-size")),
                     (cp, ("--cp", "--context-parallel-size"))):
        if n > 1 or d.chance(0.3):
            job.words += [d.pick(names), str(n)]
    if cp > 1 and d.chance(0.6):
        types = ["p2p", "all_gather", "allgather", "a2a+p2p"] + (["a2a"] if m["groups"] // tp % cp == 0 else [])
        kind = d.pick(types)
        job.words += ["--cp-comm-type", kind]
        job.seen.add(("cp-comm-type", kind))
    elif cp == 1 and d.chance(0.02):
        job.words += ["--cp-comm-type", "p2p"]
    if d.chance(0.12):
        job.words += ["--rank-order", d.pick(["tp-cp-ep-dp-pp", "tp-cp-pp-ep-dp", "dp-ep-tp-cp-pp", "pp-tp-cp-ep-dp",
                                              "tp-pp-cp-dp"])]
    elif cp == 1 and d.chance(0.05):
        job.words += ["--use-tp-pp-dp-mapping"]
    return tp, pp, cp, world // tp // pp // cp


def pipeline(d, job, m, pp, world, names):
    """Schedule, virtual stages, uneven stages; returns the number of microbatches."""
    schedules = names["schedules"]
    s = schedules[job.index // 2 % len(schedules)] if pp > 1 and d.chance(0.55) else "auto"
    if s == "dualpipe" and world > 1024:
        s = "auto"  # seconds
    layers, counted = m["layers"], 0
    if layers % pp == 0 and pp > 1 and d.chance(0.05) or layers % pp == pp - 1 > 0 and d.chance(0.7):
        job.words += ["--account-for-" + d.pick(["embedding", "loss"]) + "-in-pipeline-split"]
        counted = 1
    elif pp > 2 and layers % pp == pp - 2 and d.chance(0.7):
        job.words += ["--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split"]
        counted = 2
    uneven = not counted and (layers % pp or pp > 2 and d.chance(0.08))
    each = (layers + counted) // pp
    if uneven and pp > 1:
        first, last = 0, 0
        for mid in range(each, 0, -1):
            rest = layers - mid * (pp - 2)
            if rest >= 2 and pp > 2:
                first, last = rest // 2, rest - rest // 2
                break
        if pp == 2:
            first = layers // 2 + 1
            last = layers - first if d.chance(0.5) else 0
        if first:
            job.words += ["--decoder-first-pipeline-num-layers", str(first)]
        if last:
            job.words += ["--decoder-last-pipeline-num-layers", str(last)]
    multiples = [1, 2, 2, 3, 4]
    chunks = 1
    splits = [v for v in (2, 3, 4, 5) if each % v == 0 and each // v > (counted > 0)]
    many = s in ("interleaved", "looped-bfs", "zb-v", "dualpipev", "dualpipe") or s == "auto" and d.chance(0.4)
    if many and pp > 1 and not uneven and splits:
        chunks = 2 if s in ("zb-v", "dualpipev", "dualpipe") and 2 in splits else d.pick(splits)
        if s == "dualpipe" and d.chance(0.7):
            chunks = 1
    if chunks > 1 and s not in ("zb-v", "dualpipev") or chunks > 1 and d.chance(0.3):
        flag = d.pick(["--vp", "--virtual-pipeline-model-parallel-size", "--num-virtual-stages-per-pipeline-rank",
                       "--num-layers-per-virtual-pipeline-stage"])
        job.words += [flag, str(each // chunks if flag.startswith("--num-layers") else chunks)]
    if s == "interleaved" and chunks == 1:
        s = "auto"
    if s in ("dualpipe", "dualpipev", "zb-v", "zb-h2"):
        multiples = [2, 2, 3, 4]
    micro = pp * d.pick(multiples) if d.chance(0.85) else d.pick([1, 2, 3, 5, 7])
    if job.level == "chunk" and d.chance(0.2) or job.engine == "native" and world <= 16 and d.chance(0.3):
        most = max(8, (1024 if job.level == "chunk" else 128) // (pp * pp * chunks))
        micro = pp * d.pick([n for n in (8, 16, 32, 64) if n <= most])  # long enough for a steady state
        job.long = True
        job.seen.add(("size", "many microbatches"))
    if s == "interleaved" or s == "auto" and chunks > 1:
        if micro % pp or d.chance(0.15):
            micro = max(micro, pp)
            group = micro if micro % pp else d.pick([g for g in range(pp, micro + 1) if micro % g == 0])
            job.words += [d.pick(["--microbatch-group-size-per-vp-stage",
                                  "--microbatch-group-size-per-virtual-pipeline-stage"]), str(group)]
    if pp > 1 and not uneven and not job.big and micro <= 32 and d.chance(0.12):
        files.schedule(d, job, pp, micro, chunks if chunks > 1 else 1)
    elif s != "auto" or d.chance(0.1):
        job.words += ["--schedule", s]
        job.seen.add(("schedule", s))
    else:
        job.seen.add(("schedule", "auto"))
    if pp > 2 and d.chance(0.1) or d.chance(0.02):
        job.words += ["--no-overlap-p2p-communication"]
    if d.chance(0.05):
        job.words += ["--no-scatter-gather-tensors-in-pipeline"]
    return micro


def batch(d, job, tp, cp, dp, micro, m):
    seq = d.pick([512, 1024, 2048, 2048, 4096, 4096, 8192])
    mbs = d.pick([1, 1, 1, 2, 4])
    job.words += [d.pick(["--seq", "--seq-length", "--encoder-seq-length"]), str(seq),
                  d.pick(["--mbs", "--micro-batch-size"]), str(mbs)]
    if micro > 1 or d.chance(0.8):
        job.words += [d.pick(["--gbs", "--global-batch-size"]), str(mbs * dp * micro)]
    positions = {"gpt": 1024}.get(m["name"][:3])
    if positions and seq > positions and d.chance(0.9):
        job.words += ["--max-position-embeddings", str(seq)]


def precision(d, job, card, te):
    """Returns fp32, fp16, bf16 or fp8."""
    kinds = ["bf16", "bf16", "fp16", "fp16", "fp32", "fp8", "fp8"]
    if card == "v100":
        kinds = ["fp16"] * 6 + ["fp32", "bf16"]
    elif card == "a100":
        kinds = ["bf16", "bf16", "bf16", "fp16", "fp16", "fp32", "bf16", "fp16", "fp8"]
    p = d.pick(kinds)
    if p == "fp8" and not te and d.chance(0.8):
        p = "bf16"
    job.words += {
        "bf16": [["--bf16"], ["--precision", "bf16"], ["--bf16", "--fp8-format", "none"]],
        "fp16": [["--fp16"], ["--precision", "fp16"]],
        "fp32": [["--precision", "fp32"], []],
        "fp8": [["--bf16", "--fp8-format", "hybrid"], ["--bf16", "--fp8-hybrid"], ["--fp16", "--fp8-e4m3"],
                ["--precision", "fp8"], ["--bf16", "--fp8-format", "e4m3"]],
    }[p][d.below({"bf16": 3, "fp16": 2, "fp32": 2, "fp8": 5}[p])]
    job.seen.add(("precision", p))
    return p


def features(d, job, m, tp, pp, cp, p, te):
    """Parallel details, recompute, optimizer, offload: what Megatron lets go together, mostly."""
    w = job.words
    if cp > 1 or d.chance(0.4):
        kind = d.pick(["flash", "fused"] if cp > 1 else ["flash", "fused", "unfused", "auto", "local"])
        if d.chance(0.3) and kind == "flash":
            w += ["--use-flash-attn"]
        else:
            w += ["--attention-backend", kind]
    if tp > 1 and d.chance(0.6):
        w += ["--sequence-parallel"]
        if d.chance(0.5):
            w += ["--tp-comm-overlap"]
    data = d.pick(["ddp", "ddp", "distributed", "distributed", "distributed", "fsdp"])
    untied = not m["name"].startswith(("gpt", "qwen2.5-0.5b", "qwen2.5-1.5b", "qwen2.5-3b")) and m["name"]
    if data == "fsdp" and pp == 1:
        w += d.pick([["--fsdp", "full"], ["--fsdp", "grad"], ["--fsdp", "hybrid"], ["--fsdp", "none"],
                     ["--use-megatron-fsdp", "--data-parallel-sharding-strategy", "optim_grads_params"],
                     ["--use-custom-fsdp", "--data-parallel-sharding-strategy", "optim_grads"],
                     ["--fsdp", "hybrid", "--outer-dp-sharding-strategy", "optim"],
                     ["--fsdp", "full", "--outer-dp-sharding-strategy", "no_shard"],
                     ["--use-megatron-fsdp", "--data-parallel-sharding-strategy", "optim", "--use-distributed-optimizer"],
                     ["--use-torch-fsdp2"] + ([] if untied else ["--untie-embeddings-and-output-weights"])])
        if d.chance(0.5):
            w += ["--overlap-grad-reduce"] + (["--overlap-param-gather"] if d.chance(0.7) else [])
    elif data != "ddp":
        w += ["--use-distributed-optimizer"]
        if d.chance(0.6):
            w += ["--overlap-grad-reduce"] + (["--overlap-param-gather"] if d.chance(0.7) else [])
        if p == "fp8" and d.chance(0.4):
            w += ["--fp8-param-gather"]
    elif d.chance(0.4):
        w += ["--overlap-grad-reduce"]
    kind = d.below(12)
    layers = max(1, m["layers"] // pp - 1)
    if kind < 2:
        w += d.pick([["--recompute-activations"], ["--recompute-granularity", "selective"],
                     ["--recompute", "selective"], ["--recompute-granularity", "selective", "--recompute-modules",
                                                    "core_attn"]])
    elif kind < 5:
        w += d.pick([["--recompute", "full"], ["--recompute", "full", "--recompute-method", "block"],
                     ["--recompute-granularity", "full", "--recompute-method", d.pick(["uniform", "block"]),
                      "--recompute-num-layers", str(1 + d.below(layers))]])
    elif kind == 5 and not te:
        w += ["--checkpoint-activations"] + (["--checkpoint-num-layers", str(1 + d.below(layers))]
                                             if d.chance(0.5) else [])
    elif kind == 6 and pp == 1 and te:
        w += ["--cpu-offloading", "--cpu-offloading-num-layers", str(1 + d.below(max(1, m["layers"] - 1)))]
        w += d.pick([[], ["--no-cpu-offloading-activations"], ["--no-cpu-offloading-weights"],
                     ["--cpu-offloading-activations"], ["--cpu-offloading-weights"]])
    elif kind == 7 and d.chance(0.5):
        w += ["--optimizer-cpu-offload"] + (["--optimizer-offload-fraction", d.pick(["0", "0.3", "1"])]
                                            if d.chance(0.6) else [])


def link_name(d, job, world, gpus, mesh):
    node = d.below(world // gpus)
    a = d.below(gpus)
    if job.own:
        return d.pick(["nic-%d" % node, "nvlink-%d-%d" % (node, a)])
    if world > gpus and d.chance(0.6):
        return "nic-%d-%d" % (node, a // 2 if d.chance(0.5) else a)
    if mesh:
        return "nvlinks-%d-%d" % (node, d.below(4))  # all of a GPU: one of them alone is refused where collectives run
    return "nvlink-%d-%d" % (node, a)


def simulation(d, job, world, gpus, mesh):
    """How it is replayed: level and engine take turns, so that each pair has the same share."""
    if job.level != "chunk" or d.chance(0.2):
        job.sim += ["--level", job.level]
    if job.engine != "simgrid" or d.chance(0.2):
        job.run += ["--engine", job.engine]
    if job.big or job.long and world > 8:
        return
    if world <= 32 and d.chance(0.12):
        job.sim += ["--unfold"]
        job.seen.add(("simulation", "--unfold"))
    if d.chance(0.1):
        job.run += ["--full-replay"]
        job.seen.add(("simulation", "--full-replay"))
    if world <= 32 and d.chance(0.12):
        files.placement(d, job, world, gpus)
        job.seen.add(("simulation", "--placement"))
    if d.chance(0.12) and (world <= 16 or job.level != "flow"):
        for _ in range(1 + d.below(2)):
            job.sim += ["--straggler", "%d:%s" % (d.below(world), d.pick(["1.2", "1.05", "2", "1"]))]
        job.seen.add(("simulation", "--straggler"))
    if d.chance(0.12):
        job.sim += ["--slow-link", link_name(d, job, world, gpus, mesh) + ":" + d.pick(["2", "1.5", "10", "1000", "failed"])]
        job.seen.add(("simulation", "--slow-link"))
    if world <= 16 and not job.long and d.chance(0.08):
        job.run += ["--jitter", d.pick(["0.02", "0.1", "0"]), "--replicas", d.pick(["1", "2", "5"])]
        if d.chance(0.7):
            job.run += ["--seed", str(d.below(1000))]
        job.seen.add(("simulation", "--jitter"))


def props(d, job, stack_props):
    """--set: one property by turns, so that each comes up, and sometimes more."""
    names = sorted(PROPS)
    chosen = [names[job.index % len(names)]] if d.chance(0.35) else []
    chosen += [d.pick(names) for _ in range(2)] if d.chance(0.08) else []
    for name in chosen:
        job.words += ["--set", name + "=" + d.pick(PROPS[name])]
        job.seen.add(("prop", name))


def contention(d, job):
    """A network that limits the job: flows share links for long, and transfers are not hidden."""
    job.words += d.pick([["--set", "ss.oversubscription=" + d.pick(["8", "64"]), "--set", "ss.nodes_per_leaf=2"],
                         ["--set", "ss.nic.bandwidth=" + d.pick(["1GBps", "0.1GBps"])],
                         ["--set", "ss.nic.bandwidth=2GBps", "--set", "ss.oversubscription=16", "--set",
                          "ss.nodes_per_leaf=1"],
                         ["--set", "ss.nvlink.bandwidth=" + d.pick(["5GBps", "0.5GBps"])]])
    job.seen.add(("size", "a network that limits"))


def extra(d, job):
    """One flag by turns, given alone: what its absence would have meant is what most other jobs show."""
    names = sorted(FREE)
    if d.chance(0.5):
        flag = names[job.index // 2 % len(names)]
        job.words += [flag] + ([d.pick(FREE[flag])] if FREE[flag] else [])
    if job.index % 13 == 5:
        other = OTHER[job.index // 13 % len(OTHER)]
        job.words += other.split()
        job.seen.add(("other", other))


def flags_in(words):
    return {w.split("=")[0] for w in words if w.startswith("--")}


def make(seed, index, names):
    """Job `index` of `seed`. names: platforms, stacks, models, schedules as the program lists them."""
    d, job = Draw(seed, index), Job(index)
    job.big = index % 11 == 0
    job.level = "chunk" if job.big else ("chunk", "layer", "flow")[index % 3]
    job.engine = ("native", "simgrid")[index // 3 % 2]
    stack = names["stacks"][(index + index // 15) % len(names["stacks"])]
    te = not stack.startswith(NO_TE)
    world, gpus, platform = cluster(d, job, names)
    job.own = platform not in {p["name"] for p in names["platforms"]}
    m = model(d, job, names)
    if stack != "megatron-2407" or d.chance(0.5):
        if d.chance(0.04):
            files.stack(job, stack)
        else:
            job.words += ["--stack", stack]
    job.seen.add(("stack", stack))
    tp, pp, cp, dp = degrees(d, job, m, world, gpus, te)
    micro = pipeline(d, job, m, pp, world, names)
    batch(d, job, tp, cp, dp, micro, m)
    p = precision(d, job, platform[:4], te or stack.startswith(OWN_FP8))
    features(d, job, m, tp, pp, cp, p, te)
    extra(d, job)
    props(d, job, names)
    simulation(d, job, world, gpus, platform in ("v100", "v100-32g"))
    job.seen |= {("flag", f) for f in flags_in(job.words)}
    job.seen |= {("level", job.level), ("engine", job.engine), ("pair", job.level + " on " + job.engine),
                 ("size", "16 nodes and more" if job.big else "up to 64 GPUs")}
    if not job.own and world > gpus and d.chance(0.08):
        contention(d, job)
    if d.chance(0.08):
        files.job_file(d, job, world, gpus)
        job.seen |= {("flag", f) for f in flags_in(job.words)}
    return job

# SPDX-License-Identifier: Apache-2.0
"""The jobs of the net: random, small, from a seed; the same words on every machine.

Only Random.random() is used, whose sequence Python keeps over its releases. Each job has a generator of
its own, seeded by (seed, index), so that job 17 is the same however many are asked for.
"""
import random


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


# Values for --set, by property. The coverage fails for a property of a card or a stack that is not here.
PROPS = {
    "ss.sm_count": ["96"], "ss.peak.fp32": ["150Tf"], "ss.peak.fp16": ["400Tf"], "ss.peak.bf16": ["400Tf"],
    "ss.peak.fp8": ["0.9Pf"], "ss.peak.cuda_cores": ["0f", "20Tf"], "ss.hbm.bandwidth": ["1.5TBps"],
    "ss.hbm.size": ["64GiB"], "ss.device_memory": ["24GiB", "200GiB"], "ss.hbm.efficiency": ["0.7"],
    "ss.gemm.efficiency.fp32": ["0.6"], "ss.gemm.efficiency.fp16": ["0.66"], "ss.gemm.efficiency.bf16": ["0.66"],
    "ss.gemm.efficiency.fp8": ["0.5"], "ss.gemm.tile_m": ["64"], "ss.gemm.tile_n": ["64"],
    "ss.gemm.k_prologue": ["300"], "ss.gemm.k_prologue.fp8": ["300"], "ss.gemm.small_tile": ["0.8"],
    "ss.kernel_latency": ["9us"], "ss.nvlink.efficiency": ["0.6"], "ss.nvlink.half_size": ["1MB"],
    "ss.nvlink.step_latency": ["5us"], "ss.nvls.efficiency": ["0", "0.5"], "ss.nvls.latency": ["40us"],
    "ss.nic.efficiency": ["0.5"], "ss.nic.step_latency": ["20us"], "ss.pcie.bandwidth": ["12GBps"],
    "ss.host_memory": ["64GiB", "4TiB"], "ss.power": ["450W"], "ss.price": ["2.5USD/h"],
    "ss.nic.bandwidth": ["12.5GBps"], "ss.nvlink.bandwidth": ["100GBps"], "ss.nvlink.latency": ["2us"],
    "ss.nic.latency": ["3us"], "ss.uplink.latency": ["4us"], "ss.oversubscription": ["4"],
    "ss.nodes_per_leaf": ["2"], "ss.nics_per_node": ["1", "2"],
    "ss.attention.flash.forward": ["0.6"], "ss.attention.flash.backward": ["0.5"],
    "ss.attention.fused.forward": ["0.6"], "ss.attention.fused.backward": ["0.5"],
    "ss.attention.half_tokens": ["900"], "ss.attention.half_dim": ["40"],
    "ss.attention.unfused.passes_forward": ["6"], "ss.attention.unfused.passes_backward": ["9"],
    "ss.rope.passes": ["4"], "ss.default.dropout": ["0", "0.1"], "ss.te.layers": ["0", "1"],
    "ss.fused.inplace_activation": ["1"], "ss.fused.wgrad_accumulation": ["0"], "ss.loss.forward_bytes": ["30"],
    "ss.loss.backward_bytes": ["20"], "ss.fused.cross_entropy": ["1"], "ss.fused.linear_cross_entropy": ["1"],
    "ss.loss.peak_bytes": ["12"], "ss.loss.parallel_peak_bytes": ["4"], "ss.fp8.dynamic": ["1"],
    "ss.fp8.forward_gain": ["1"], "ss.te.fp8_cast": ["0"], "ss.te.fp8_allgather": ["0"],
    "ss.default.fp8_param_gather": ["1"], "ss.tp.async_backward": ["0"], "ss.tp.saves_gathered": ["1"],
    "ss.tp.overlap_sms": ["8"], "ss.tp.overlap_busbw": ["0.8"], "ss.memory.tp_overlap_buffers": ["4"],
    "ss.cp.overlap": ["0", "1"], "ss.pp.scatter_gather": ["1"], "ss.pp.overlap": ["0", "1"],
    "ss.memory.keep_outputs": ["1"], "ss.ddp.bucket_params": ["1e7"], "ss.comm.sms.nvlink": ["8"],
    "ss.comm.sms.nic": ["4"], "ss.default.grad_reduce_fp32": ["0"], "ss.ddp.flat_gradients": ["1"],
    "ss.zero.bucket_params": ["5e8"], "ss.zero.live_params": ["1e9"], "ss.fsdp.pytorch": ["1"],
    "ss.optimizer.passes": ["2"], "ss.optimizer.grad_passes": ["5"], "ss.optimizer.host_operators": ["4"],
    "ss.optimizer.barrier": ["0"], "ss.optimizer.grad_copy": ["1"], "ss.default.fp32_params": ["1"],
    "ss.optimizer.param_remainders": ["1"], "ss.host.operator": ["90us"], "ss.microbatch.fixed": ["1ms"],
    "ss.iteration.fixed": ["20ms"], "ss.memory.context": ["1GB"], "ss.memory.nccl_per_group": ["200MB"],
    "ss.memory.fragmentation": ["0.1"], "ss.memory.thrash_margin": ["0.1"],
}

# Flags that need no other one, and by value anything; "none" has no value.
FREE = {
    "--account-for-embedding-in-pipeline-split": None, "--account-for-loss-in-pipeline-split": None,
    "--no-overlap-p2p-communication": None, "--no-scatter-gather-tensors-in-pipeline": None,
    "--accumulate-allreduce-grads-in-fp32": None, "--grad-reduce-in-bf16": None,
    "--ddp-bucket-size": ["1000000", "2e8"], "--no-check-for-nan-in-loss-and-grad": None,
    "--clip-grad": ["0", "1.0"], "--optimizer": ["adam", "adamw", "hybridadam"],
    "--optimizer-cpu-offload": None, "--optimizer-offload-policy": ["static"],
    "--optimizer-offload-fraction": ["0.25", "1"], "--main-grads-dtype": ["fp32"], "--main-params-dtype": ["fp32"],
    "--exp-avg-dtype": ["fp32"], "--exp-avg-sq-dtype": ["fp32"], "--attention-dropout": ["0", "0.1"],
    "--hidden-dropout": ["0.0", "0.1"], "--use-flash-attn": None,
    "--attention-backend": ["flash", "fused", "unfused", "local", "auto"],
    "--transformer-impl": ["local", "transformer_engine"], "--make-vocab-size-divisible-by": ["1", "256"],
    "--max-position-embeddings": ["131072"], "--data-parallel-sharding-strategy": ["optim", "no_shard"],
    "--num-distributed-optimizer-instances": ["1"], "--expert-model-parallel-size": ["1"], "--ep": ["1"],
    "--etp": ["1"], "--expert-tensor-parallel-size": ["2"], "--num-experts": ["0"], "--moe-router-topk": ["2"],
    "--moe-ffn-hidden-size": ["1024"], "--moe-shared-expert-intermediate-size": ["512"], "--moe-layer-freq": ["2"],
    "--mtp-num-layers": ["0"], "--measured": ["1200ms", "2.5s"], "--measured-memory": ["30000MiB", "12GB"],
    "--padded-vocab-size": ["65536"], "--extra-vocab-size": ["128"], "--recompute-modules": ["core_attn"],
    "--no-cpu-offloading-activations": None, "--no-cpu-offloading-weights": None,
    "--cpu-offloading-activations": None, "--cpu-offloading-weights": None, "--cpu-offloading": None,
    "--tokenizer-type": ["GPT2BPETokenizer", "NullTokenizer", "LLama3Tokenizer"],
    "--patch-tokenizer-type": ["Qwen2Tokenizer", "LLama2Tokenizer"],
    "--use-rotary-position-embeddings": None, "--use-llama2-rotary-position-embeddings": None,
    "--position-embedding-type": ["rope", "none", "mrope"], "--normalization": ["RMSNorm", "LayerNorm"],
    "--add-qkv-bias": None, "--disable-bias-linear": None, "--untie-embeddings-and-output-weights": None,
    "--group-query-attention": None, "--swiglu": None, "--quick-geglu": None, "--kv-channels": ["64", "128"],
    "--no-position-embedding": None, "--use-distributed-optimizer": None, "--sequence-parallel": None,
    "--overlap-grad-reduce": None, "--microbatch-group-size-per-vp-stage": ["8"],
    "--use-tp-pp-dp-mapping": None,
}

# What is read and has no effect, changes a little, is refused, or is no flag at all: notes and errors.
OTHER = [["--distributed-backend", "nccl"], ["--lr", "1e-4"], ["--use-cpu-initialization"], ["--log-interval", "1"],
         ["--num-experts", "8"], ["--multi-latent-attention"], ["--mtp-num-layers", "1"], ["--no-such-flag"],
         ["--ep", "2"], ["--optimizer", "sgd"], ["--train-iters", "10"], ["--recompute-modules", "mlp"],
         ["--exp-avg-dtype", "bf16"], ["--num-layers", "0"], ["--fp4-format", "e2m1"], ["--clip-grad", "x"]]


def divisors(n, most):
    return [d for d in range(1, most + 1) if n % d == 0]


def cluster(d, job, names):
    """Platform and nodes; returns the number of GPUs, and of those of a node."""
    platform = names["platforms"][job.index % len(names["platforms"])]
    name, gpus = platform["name"], platform["gpus"]
    if d.chance(0.05):
        file = "platform-%d.xml" % job.index
        job.files[file] = (
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            '<platform version="4.1">\n  <zone id="mine" routing="Dijkstra">\n    <prop id="ss.base" value="%s"/>\n'
            '    <prop id="ss.nic.efficiency" value="0.61"/>\n  </zone>\n</platform>\n' % name)
        job.words += ["--platform", file]
        job.seen.add(("platform", "a file"))
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
    if nodes > 2 or d.chance(0.9):
        job.words += ["--nodes", str(nodes)]
    else:
        nodes = 2  # what the platforms' files hold
    return nodes * gpus, gpus, name


def model(d, job, names):
    """A model by name, by flags, or a named one with a flag on top; returns its shape."""
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


def csv_order(d, pp, m, chunks):
    """Slots of each rank: GPipe over the chunks, or 1F1B; B whole or as I and W. Virtual stage: chunk * pp + rank."""
    split, rows = d.chance(0.4), []
    one = chunks == 1 and d.chance(0.5)
    for r in range(pp):
        def back(s, k):
            return ["%dI%d" % (s, k), "%dW%d" % (s, k)] if split else ["%dB%d" % (s, k)]
        row = []
        if one:
            warm = min(pp - 1 - r, m)
            row += ["%dF%d" % (r, k) for k in range(warm)]
            for k in range(m - warm):
                row += ["%dF%d" % (r, warm + k)] + back(r, k)
            for k in range(m - warm, m):
                row += back(r, k)
        else:
            for c in range(chunks):
                row += ["%dF%d" % (c * pp + r, k) for k in range(m)]
            for c in reversed(range(chunks)):
                for k in range(m):
                    row += back(c * pp + r, k)
        rows.append(row)
    return rows


def schedule_file(d, job, pp, m, chunks):
    rows = csv_order(d, pp, m, chunks)
    if d.chance(0.6):
        name = "order-%d.csv" % job.index
        job.files[name] = "".join(",".join(row) + "\n" for row in rows)
        job.seen.add(("schedule", "a CSV file"))
    else:
        name = "order-%d.sched" % job.index
        job.files[name] = "schedule 1\nname mine\np2p %s\n" % "async" + "".join(
            "rank %d: %s\n" % (r, " ".join(row)) for r, row in enumerate(rows))
        job.seen.add(("schedule", "a text file"))
    job.words += ["--schedule", name]


def pipeline(d, job, m, pp, names):
    """Schedule, virtual stages, uneven stages; returns the number of microbatches."""
    schedules = names["schedules"]
    s = schedules[job.index // 2 % len(schedules)] if pp > 1 and d.chance(0.55) else "auto"
    layers, counted = m["layers"], 0
    if layers % pp == 0 and pp > 1 and d.chance(0.05) or layers % pp == pp - 1 and d.chance(0.7):
        job.words += ["--account-for-" + d.pick(["embedding", "loss"]) + "-in-pipeline-split"]
        counted = 1
    elif pp > 1 and layers % pp == pp - 2 and d.chance(0.7):
        job.words += ["--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split"]
        counted = 2
    uneven = (layers + counted) % pp or pp > 2 and not counted and d.chance(0.08)
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
    if s == "interleaved" or s == "auto" and chunks > 1:
        if micro % pp or d.chance(0.15):
            micro = max(micro, pp)
            group = micro if micro % pp else d.pick([g for g in range(pp, micro + 1) if micro % g == 0])
            job.words += [d.pick(["--microbatch-group-size-per-vp-stage",
                                  "--microbatch-group-size-per-virtual-pipeline-stage"]), str(group)]
    if pp > 1 and not uneven and not job.big and micro <= 32 and d.chance(0.12):
        schedule_file(d, job, pp, micro, chunks if chunks > 1 else 1)
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


def placement(d, job, world, gpus):
    """Nodes in another order, or GPU by GPU."""
    nodes, name = list(range(world // gpus)), "place-%d.txt" % job.index
    if d.chance(0.5):
        text = "".join("node %d\n" % n for n in d.shuffled(nodes))
    else:
        all_gpus = [(n, g) for g in range(gpus) for n in nodes]  # round robin over the nodes
        if d.chance(0.5):
            all_gpus = d.shuffled(all_gpus)
        text = "".join("gpu %d %d\n" % (n, g) for n, g in all_gpus)
    job.files[name] = text
    job.sim += ["--placement", name]


def link_name(d, world, gpus, mesh):
    node = d.below(world // gpus)
    a = d.below(gpus)
    if world > gpus and d.chance(0.6):
        return "nic-%d-%d" % (node, a // 2 if d.chance(0.5) else a)
    if mesh:
        a, b = sorted(d.shuffled(range(4))[:2])
        return "nvlink-%d-%d-%d" % (node, a, b)
    return "nvlink-%d-%d" % (node, a)


def simulation(d, job, world, gpus, mesh):
    """How it is replayed: level and engine take turns, so that each pair has the same share."""
    levels, engines = ("chunk", "layer", "flow"), ("native", "simgrid")
    job.level = "chunk" if job.big else levels[job.index % 3]
    job.engine = engines[job.index // 3 % 2]
    if job.level != "chunk" or d.chance(0.2):
        job.sim += ["--level", job.level]
    if job.engine != "simgrid" or d.chance(0.2):
        job.run += ["--engine", job.engine]
    if job.big:
        return
    if world <= 32 and d.chance(0.12):
        job.sim += ["--unfold"]
        job.seen.add(("simulation", "--unfold"))
    if d.chance(0.1):
        job.run += ["--full-replay"]
        job.seen.add(("simulation", "--full-replay"))
    if world <= 32 and d.chance(0.12):
        placement(d, job, world, gpus)
        job.seen.add(("simulation", "--placement"))
    if d.chance(0.12):
        for _ in range(1 + d.below(2)):
            job.sim += ["--straggler", "%d:%s" % (d.below(world), d.pick(["1.2", "1.05", "2", "1"]))]
        job.seen.add(("simulation", "--straggler"))
    if d.chance(0.12):
        job.sim += ["--slow-link", link_name(d, world, gpus, mesh) + ":" + d.pick(["2", "1.5", "10", "failed"])]
        job.seen.add(("simulation", "--slow-link"))
    if world <= 16 and d.chance(0.08):
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


def extra(d, job):
    """One flag by turns, given alone: what its absence would have meant is what most other jobs show."""
    names = sorted(FREE)
    if d.chance(0.5):
        flag = names[job.index // 2 % len(names)]
        job.words += [flag] + ([d.pick(FREE[flag])] if FREE[flag] else [])
    if d.chance(0.04):
        job.words += d.pick(OTHER)


def into_file(d, job):
    """Some of the words from a job file, with comments and quotes."""
    cut = 0
    lines = ["# job %d" % job.index]
    while cut < len(job.words):
        end = cut + 1
        while end < len(job.words) and not job.words[end].startswith("--"):
            end += 1
        words = job.words[cut:end]
        if d.chance(0.2):
            words = [words[0]] + ['"%s"' % w for w in words[1:]]
        lines.append(" ".join(words) + ("  # as it was" if d.chance(0.1) else ""))
        cut = end
    name = "job-%d.args" % job.index
    job.files[name] = "\n".join(lines) + "\n"
    job.words = ["--job", name]
    if d.chance(0.3):
        job.words += ["--seq", "2048"]
    job.seen.add(("size", "--job"))


def flags_in(words):
    return {w.split("=")[0] for w in words if w.startswith("--")}


def make(seed, index, names):
    """Job `index` of `seed`. names: platforms, stacks, models, schedules as the program lists them."""
    d, job = Draw(seed, index), Job(index)
    job.big = index % 11 == 0
    stack = names["stacks"][(index + index // 15) % len(names["stacks"])]
    te = not stack.startswith(("megatron-20", "megatron-lm-2020", "megatron-lm-2021", "megatron-lm-2022",
                               "megatron-deepspeed"))
    world, gpus, platform = cluster(d, job, names)
    m = model(d, job, names)
    if stack != "megatron-2407" or d.chance(0.5):
        if d.chance(0.04):
            file = "stack-%d.xml" % index
            job.files[file] = ('<stack name="mine" base="%s">\n  <prop id="ss.rope.passes" value="3"/>\n'
                               '  <prop id="ss.iteration.fixed" value="5ms"/>\n</stack>\n' % stack)
            job.words += ["--stack", file]
            job.seen.add(("stack", "a file"))
        else:
            job.words += ["--stack", stack]
    job.seen.add(("stack", stack))
    tp, pp, cp, dp = degrees(d, job, m, world, gpus, te)
    micro = pipeline(d, job, m, pp, names)
    batch(d, job, tp, cp, dp, micro, m)
    p = precision(d, job, platform[:4], te)
    features(d, job, m, tp, pp, cp, p, te)
    extra(d, job)
    props(d, job, names)
    simulation(d, job, world, gpus, platform in ("v100", "v100-32g"))
    job.seen |= {("flag", f) for f in flags_in(job.words)}
    job.seen |= {("level", job.level), ("engine", job.engine), ("pair", job.level + " on " + job.engine),
                 ("size", "16 nodes and more" if job.big else "up to 64 GPUs")}
    if d.chance(0.08):
        into_file(d, job)
        job.seen |= {("flag", f) for f in flags_in(job.words)}
    return job

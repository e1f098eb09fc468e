#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a few layers of known models on one GPU, and adds a row for each configuration to a table of runs that
`stepsim validate FILE` reads: time of a step and memory; and to FILE-kinds.csv where the time of its kernels goes.

A tensor-parallel shard is trained as what it is without its collectives: a model with a part of the heads, of the MLP's width and of the
vocabulary. The words of a row are those that `stepsim import` makes of such a run:
- torchtitan-2025: parameters, gradients and states of AdamW are fp32 (ss.default.fp32_params, which is bf16 by autocast), and layers are
  compiled unless ss.fused.elementwise says otherwise;
- accelerate-2026: a model of 16 bit that AdamW steps as it is (ss.optimizer.model_type), as the Trainer does with one that was loaded in bf16.
Both step by a fused AdamW behind clipping by the norm. One GPU has no FSDP."""
import collections
import gc
import json
import os
import statistics
import sys
import tempfile
import time
import zlib

import measure
import models

COLUMNS = (
    "id source framework platform stack gpu nodes gpus_per_node model num_layers hidden_size ffn_hidden_size num_attention_heads "
    "num_query_groups kv_channels vocab_size gated_mlp tied_embeddings position normalization precision attention tp pp cp ep num_experts "
    "top_k layers_per_virtual_stage micro_batch global_batch seq_length recompute recompute_num_layers sequence_parallel optimizer fsdp "
    "cpu_offload tp_comm_overlap grad_param_overlap outcome iteration_ms tflops_per_gpu memory_mib memory_kind quality note flags").split()
KINDS_COLUMNS = ["id", "kind", "ms"]
WARM_UP, LEAST_STEPS, MOST_STEPS, SECONDS, TRACED = 3, 5, 20, 2, 3

Config = collections.namedtuple("Config", "stack model tp layers length batch recompute mode attention")

# The most telling first; new ones at the end. Lengths are tokens, batches sequences of a microbatch, which is a step's only one.
PLAN = """
torchtitan  llama3-8b      1 4   8192 1 none         compiled flash
torchtitan  llama3-8b      1 4   8192 1 none         eager    flash
accelerate  qwen2.5-7b     1 4   4096 2 none         eager    fused
torchtitan  qwen3-30b-a3b  1 4   4096 2 none         eager    flash
torchtitan  llama3-8b      1 4   8192 1 full         eager    flash
torchtitan  llama3-8b      1 4   8192 1 op-selective compiled flash
accelerate  qwen3-8b       1 4   8192 1 none         graphed  fused
torchtitan  mixtral-8x7b   1 1   8192 1 none         eager    flash
torchtitan  llama3-70b     4 4   8192 1 none         eager    flash
accelerate  qwen2.5-72b    8 8   4096 1 none         eager    fused
torchtitan  llama3-70b     1 2   4096 1 none         eager    flash
accelerate  qwen2.5-14b    2 4   4096 1 none         eager    fused
torchtitan  llama3-8b      1 4   2048 1 none         eager    flash
torchtitan  llama3-8b      1 4   2048 1 none         graphed  flash
torchtitan  llama3-8b      1 4  32768 1 full         eager    flash
accelerate  qwen2.5-7b     1 4   8192 1 none         compiled fused
torchtitan  llama3-8b      1 4   8192 1 none         eager    fused
accelerate  qwen2.5-7b     1 4   4096 2 none         eager    flash
torchtitan  qwen3-30b-a3b  1 4   4096 1 full         eager    flash
torchtitan  llama3-8b      8 8   8192 1 none         graphed  flash
torchtitan  llama3-8b      8 8   8192 1 none         eager    flash
accelerate  qwen3-32b      4 4   8192 1 none         eager    fused
accelerate  qwen3-32b      1 2   4096 1 full         eager    fused
torchtitan  llama3-70b     8 8   8192 1 full         eager    flash
torchtitan  llama3-70b     8 8   8192 2 none         compiled flash
accelerate  qwen2.5-72b    4 4  16384 1 none         eager    fused
accelerate  qwen2.5-72b    2 2   8192 1 full         eager    fused
torchtitan  llama3-8b      1 4   2048 8 none         eager    flash
torchtitan  llama3-8b      1 4   4096 4 op-selective eager    flash
torchtitan  llama3-8b      1 8   8192 1 op-selective eager    flash
accelerate  qwen3-8b       2 8   4096 4 none         eager    fused
accelerate  qwen3-8b       8 8   2048 1 none         eager    fused
accelerate  qwen3-8b       8 8   2048 1 none         graphed  fused
torchtitan  mixtral-8x7b   1 2   4096 1 full         eager    flash
torchtitan  mixtral-8x7b   1 1   4096 4 none         compiled flash
torchtitan  qwen3-30b-a3b  1 4   4096 2 none         compiled flash
torchtitan  qwen3-30b-a3b  1 2   2048 1 none         graphed  flash
torchtitan  qwen3-30b-a3b  1 2  16384 1 none         eager    flash
accelerate  qwen2.5-7b     4 8  16384 1 full         eager    fused
accelerate  qwen2.5-7b     1 2  32768 1 none         eager    fused
accelerate  qwen2.5-14b    1 4   8192 1 full         eager    fused
accelerate  qwen2.5-14b    1 4   2048 4 none         compiled fused
accelerate  qwen2.5-14b    8 8   8192 1 none         eager    fused
torchtitan  llama3-8b      4 8  16384 1 none         eager    flash
torchtitan  llama3-8b      2 4   4096 2 full         compiled flash
torchtitan  llama3-70b     2 2   8192 1 full         eager    flash
torchtitan  llama3-70b     4 4  16384 1 full         compiled flash
torchtitan  llama3-70b     8 8   2048 4 none         graphed  flash
torchtitan  llama3-70b     8 4  32768 1 op-selective eager    flash
accelerate  qwen2.5-72b    8 8   8192 1 none         graphed  fused
accelerate  qwen2.5-72b    8 4   4096 8 full         eager    fused
accelerate  qwen3-32b      8 8   8192 1 none         compiled fused
accelerate  qwen3-32b      2 4   2048 2 none         eager    fused
torchtitan  llama3-8b      1 8   4096 1 none         eager    flash
torchtitan  llama3-8b      1 1   8192 1 none         eager    flash
accelerate  qwen3-8b       1 1   8192 1 none         eager    fused
torchtitan  mixtral-8x7b   1 1  16384 1 full         eager    fused
torchtitan  llama3-8b      1 4   4096 1 none         graphed  fused
accelerate  qwen3-8b       1 4  16384 1 full         compiled flash
torchtitan  llama3-8b      1 4   8192 8 none         eager    flash
""".split()


def plan():
    for at in range(0, len(PLAN), len(Config._fields)):
        words = PLAN[at:at + len(Config._fields)]
        yield Config(*(int(w) if w.isdigit() else w for w in words))


def id_of(c):
    return "own-%s-tp%d-l%d-s%d-b%d-%s-%s-%s-%s" % (c.model, c.tp, c.layers, c.length, c.batch, c.recompute, c.mode, c.attention, c.stack)


def half_of(name):
    """Which rows may be fitted on: a property of the name, so that it stays when the plan grows."""
    return "held out" if zlib.crc32(name.encode()) % 2 else "for fitting"


# ---- a row ----

STACKS = {"torchtitan": "torchtitan-2025", "accelerate": "accelerate-2026"}


def shard(model, tp):
    """Rows of the vocabulary are a multiple of 128, as predictions pad them."""
    return model._replace(heads=model.heads // tp, groups=max(1, model.groups // tp), ffn=model.ffn // tp, expert_ffn=model.expert_ffn // tp,
                          vocab=-(-model.vocab // tp // 128) * 128)


def flags_of(c):
    torchtitan = c.stack == "torchtitan"
    words = ["--set ss.default.fp32_params=1 --set ss.fused.cross_entropy=0" if torchtitan else "--set ss.optimizer.model_type=1"]
    if torchtitan == (c.mode != "compiled"):
        words.append("--set ss.fused.elementwise=%d" % (c.mode == "compiled"))
    if c.mode == "graphed":
        words.append("--cuda-graph-impl full_iteration")
    if torchtitan and c.attention == "fused":  # which the probe asks of PyTorch; torchtitan itself did not yet
        words.append("--set ss.attention.offered=2")
    return " ".join(words)


def row_of(c, shape, machine, result):
    name = id_of(c)
    fields = dict(
        machine, id=name, stack=STACKS[c.stack], nodes=1, gpus_per_node=1, model=c.model, num_layers=c.layers, hidden_size=shape.hidden,
        ffn_hidden_size=shape.expert_ffn if shape.experts else shape.ffn, num_attention_heads=shape.heads, num_query_groups=shape.groups,
        kv_channels=shape.head, vocab_size=shape.vocab, gated_mlp="true", tied_embeddings="false", position="rope", normalization="rmsnorm",
        precision="bf16", attention=c.attention, tp=1, pp=1, cp=1, micro_batch=c.batch, global_batch=c.batch, seq_length=c.length,
        recompute=c.recompute, sequence_parallel="false", optimizer="fused_adam", fsdp="none", cpu_offload="false", tp_comm_overlap="false",
        grad_param_overlap="false", flags=flags_of(c), **result)
    if shape.experts:
        fields.update(num_experts=shape.experts, top_k=shape.top_k)
    fields["note"] = "; ".join(filter(None, (half_of(name), c.mode, c.tp > 1 and "shard of tensor %d" % c.tp, fields.get("note"))))
    return [str(fields.get(column, "")) for column in COLUMNS]


# ---- time by kind of kernel ----

# The first kind with a word of the kernel's name, in small letters.
KINDS = (("attention", "flash fmha sdpa attention"), ("optimizer", "multi_tensor_apply adam"), ("copy", "copy_kernel batchedcopy memcpy memset"),
         ("gemm", "splitk"), ("elementwise", "elementwise_kernel reduce_kernel triton_"), ("gemm", "gemm gemv nvjet xmma cutlass cublas"),
         ("elementwise", "norm gammabeta softmax loss embedding scatter gather index radix sort scan histogram"))


def kind_of(kernel):
    kernel = kernel.lower()
    return next((kind for kind, words in KINDS if any(w in kernel for w in words.split())), "other")


def sum_kinds(events, steps):
    """ms of a step by kind, of a trace of so many; idle: the GPU runs nothing."""
    ran = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    sums = collections.Counter({kind: 0.0 for kind in ("gemm", "attention", "elementwise", "copy", "optimizer", "other")})
    for e in ran:
        sums[kind_of(e["name"])] += e["dur"]
    if ran:
        span = max(e["ts"] + e["dur"] for e in ran) - min(e["ts"] for e in ran)
        sums["idle"] = max(0, span - sum(sums.values()))
    return {kind: us / 1e3 / steps for kind, us in sums.items()} if ran else {}


def trace(torch, step):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(TRACED):
            step()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path, encoding="utf-8") as f:
            return sum_kinds(json.load(f)["traceEvents"], TRACED)


def try_trace(torch, step, name):
    """A trace that fails is no reason to lose the row."""
    try:
        return trace(torch, step)
    except Exception as e:
        measure.note("%s has no kinds: %s" % (name, measure.first_line(e)))
        return {}


# ---- a run ----

def capture(torch, passes, optimizer, step):
    """Forward and backward as a CUDA graph; gradients are where the capture put them, written anew by each replay."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            step()
    torch.cuda.current_stream().wait_stream(side)
    optimizer.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.reset_peak_memory_stats()
    with torch.cuda.graph(graph):
        passes()
    return graph.replay


def stepper(torch, layers, c, shape, device="cuda"):
    """A step of training, which returns its loss; behind a warm-up."""
    torch.manual_seed(0)
    stack = layers.Stack(shape, c.layers, c.length, c.stack == "torchtitan", c.recompute, c.mode == "compiled", device)
    optimizer = torch.optim.AdamW(stack.parameters(), lr=1e-4, **({"fused": True} if device == "cuda" else {}))
    tokens, targets = (torch.randint(shape.vocab, (c.batch, c.length), device=device) for _ in range(2))

    def passes():
        loss = stack(tokens, targets)
        loss.backward()
        return loss.detach()

    def update():
        torch.nn.utils.clip_grad_norm_(stack.parameters(), 1.0)
        optimizer.step()

    def step():
        loss = passes()
        update()
        optimizer.zero_grad(set_to_none=True)
        return loss

    if c.mode != "graphed":
        for _ in range(WARM_UP):
            step()
        return step
    replay = capture(torch, passes, optimizer, step)

    def replayed():
        replay()
        update()

    return replayed


def clocks(torch):
    """What the card runs at just now, where PyTorch can ask (it needs NVIDIA's pynvml)."""
    try:
        return "SM clock %d MHz, %.0f W" % (torch.cuda.clock_rate(), torch.cuda.power_draw() / 1e3)
    except Exception:  # of pynvml, or of its want
        return ""


def time_steps(torch, step):
    """Seconds of each step between two marks on the GPU's own stream, and the clocks while it is busy."""
    torch.cuda.synchronize()
    start = time.monotonic()
    step()
    torch.cuda.synchronize()
    count = max(LEAST_STEPS, min(MOST_STEPS, int(SECONDS / max(time.monotonic() - start, 1e-6))))
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    told = clocks(torch)
    torch.cuda.synchronize()
    return [a.elapsed_time(b) * 1e-3 for a, b in zip(marks, marks[1:])], told


def mib(count):
    return "%.0f" % (count / 2**20)


def run(torch, layers, c, shape):
    """What the row says of its run, and ms by kind."""
    backend = {"flash": "FLASH_ATTENTION", "fused": "CUDNN_ATTENTION"}[c.attention]
    with torch.nn.attention.sdpa_kernel(getattr(torch.nn.attention.SDPBackend, backend)):
        step = stepper(torch, layers, c, shape)
        if c.mode != "graphed":
            torch.cuda.reset_peak_memory_stats()
        seconds, told = time_steps(torch, step)
        allocated, reserved = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
        free, total = torch.cuda.mem_get_info()
        kinds = try_trace(torch, step, id_of(c))
    spread = measure.spread_pct(seconds)
    return dict(outcome="ok", iteration_ms="%.6g" % (1e3 * statistics.median(seconds)), memory_mib=mib(allocated), memory_kind="allocated",
                quality="A" if spread < 1 else "B",
                note="; ".join(filter(None, ("median of %d steps, quartiles %.1f %% apart" % (len(seconds), spread),
                                             "allocated %s, reserved %s, device %s MiB" % (mib(allocated), mib(reserved), mib(total - free)),
                                             told)))), kinds


def try_run(torch, layers, c, shape):
    """The same of a run that does not fit; None and the reason of one that failed. Nothing of it is left on the GPU."""
    try:
        return run(torch, layers, c, shape)
    except Exception as e:  # a compiler or a kernel may fail in any way, and the next configuration may not
        text = " ".join(str(e).split()) or type(e).__name__
    finally:
        if c.mode == "compiled":
            torch._dynamo.reset()
        gc.collect()
        measure.check_alive(torch, id_of(c))
    return (dict(outcome="oom", quality="A"), {}) if any(w in text for w in ("out of memory", "ALLOC_FAILED")) else (None, text)


# ---- all of them ----

def platform_of(gpu, named):
    """The platform whose card has the GPU's name: "NVIDIA H100 80GB HBM3" is h100."""
    folder = os.path.join(measure.HERE, "..", "..", "platforms")
    words = gpu.replace("NVIDIA ", "").replace("-", " ").lower().split()
    name = named or (words or [""])[0]
    if not os.path.exists(os.path.join(folder, name + ".xml")):
        measure.fail("no platform \"%s\" for %s: name it with --platform, as \"stepsim list platforms\" does" % (name, gpu))
    return name


class Tables:
    """Rows of runs, and of kinds beside them."""

    def __init__(self, path, gpu):
        self.path, self.kinds_path = path, os.path.splitext(path)[0] + "-kinds.csv"
        self.rows = measure.read_table(path, COLUMNS, "validation/foreign.csv")
        self.kinds = measure.read_table(self.kinds_path, KINDS_COLUMNS, "validation/README.md")
        for row in self.rows:
            there = row[COLUMNS.index("gpu")]
            if there != gpu:
                measure.fail("%s: measured on %s, this is %s: name another file with -o" % (path, there, gpu))
        self.known = {row[0] for row in self.rows}
        self.write()  # that they can be written is known before the work

    def write(self):
        measure.write_table(self.kinds_path, KINDS_COLUMNS, self.kinds)
        measure.write_table(self.path, COLUMNS, self.rows)

    def add(self, row, kinds):
        self.rows.append(row)
        self.kinds = [k for k in self.kinds if k[0] != row[0]] + [[row[0], kind, "%.6g" % ms] for kind, ms in kinds.items()]
        self.write()


def run_all(todo, words):
    torch = measure.open_gpu("2.5", lambda torch: hasattr(getattr(torch.nn, "attention", None), "sdpa_kernel"))
    import layers

    gpu, budget = torch.cuda.get_device_name(), measure.Budget(words.seconds)
    machine = {"gpu": gpu, "platform": platform_of(gpu, words.platform), "framework": "PyTorch %s" % torch.__version__,
               "source": "stepsim probe: step.py, %s, %s" % (measure.about(torch), measure.today())}
    tables = Tables(words.output, gpu)
    todo = [c for c in todo if id_of(c) not in tables.known]
    try:
        for at, c in enumerate(todo):
            if budget.is_spent():
                measure.note("the time is over, %d configurations left; the same command goes on" % (len(todo) - at))
                break
            shape = shard(models.load(os.path.join(words.models, c.model + ".json")), c.tp)
            result, kinds = try_run(torch, layers, c, shape)
            if not result:
                measure.note("%s failed: %s" % (id_of(c), kinds[:200]))
                continue
            tables.add(row_of(c, shape, machine, result), kinds)
            print("%s: %s" % (id_of(c), result.get("iteration_ms", "out of memory")), file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("%s: interrupted; the same command goes on" % measure.PROGRAM, file=sys.stderr)
        return measure.INTERRUPTED
    return 0


def main():
    parser = measure.options(__doc__.split("\n\n")[0], "own.csv")
    parser.add_argument("--platform", metavar="NAME", help="what predictions call this machine (the GPU's name)")
    words = parser.parse_args()
    todo = [c for c in plan() if measure.is_chosen(id_of(c), words)]
    if not todo:
        measure.fail(measure.NOTHING)
    if words.list:
        measure.print_list("%s, %s" % (id_of(c), half_of(id_of(c))) for c in todo)
        return 0
    return run_all(todo, words)


if __name__ == "__main__":
    sys.exit(main())

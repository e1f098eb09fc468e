# SPDX-License-Identifier: Apache-2.0
"""Changes of the output that are meant: what the net accepts between the binary of before and the new one.

A rule is a dictionary:

    commit   subject of the commit that made the change
    why      its reason, one line
    of       the outputs: a tuple of run, plan, sweep, compare, schedule, validate, list, platform, read,
             pictures (an object of hashes by file name), program (the compact text), expanded (stderr and exit status only: a simulated program has no rules);
             left out: all
    words    of jobs with one of these flags only (left out: of all)
    beside   and with one of these
    without  of jobs with none of these flags only
    op       what changed, and its words:
      add      path             a key that only the new one has; check=function(value, whole object): must be true
      remove   path             a key that only the old one has
      rename   path, to         the key's new name, at the same place
      move     path, to         the same value at another place: a whole path
      order    path             keys of this object are in another order ("" is the outermost)
      value    path, map        a dictionary from old text to new text, or a function of the old value
      ignore   path             the value may differ: in any way, or as check=function(old value, new value, the object
                                that holds it) says; a prediction never without such a check
      text     old, new         a regular expression and what replaces it, in every text: values, stderr, plain text
      output   old, new         stdout as a whole is another thing now: regular expressions that find the old and the new
                                one; nothing in it is compared then
      exit     map              {old: new} exit status; with path and value only where the old JSON has it
      refused  words, hint      what was ignored is a usage error now: a job with one of these words exits 2, and its
                                message contains the hint

A path is keys with dots between them; * is every element of an array or every key; a key with dots, as
ss.power, is written in brackets: inputs.platform.card.[ss.power]. Numbers are compared as text, and a number
in a `value` map is written as that text.

A rule that applies to no output of a whole run fails the run: drop it when the old binary has the change too.
"""

import os

CONFIGS = "Configs of today's models: experts, latent attention, every dense family"


def model_choices():
    """The models in the words of "choose one of": as many as fit in 400 characters."""
    text = ""
    for name in sorted(f[:-5] for f in os.listdir(os.path.join(os.path.dirname(__file__), "../../workloads/models")) if f.endswith(".json")):
        if len(text) + len(name) + len(", ...") + 1 > 400:
            return text + ", ..."
        text += (", " if text else "") + name
    return text


def own_stack(old, new, file):
    """Is the file one of ours that names props of experts? Nothing else reads them."""
    return file["data"].startswith("workloads/stacks/")


def own_card(old, new, file):
    """Is the file a card of ours? A changed value of it would show among the inputs."""
    return file["data"].startswith("platforms/cards/")


BLOCKS = "Fp8 GEMMs that scale blocks have a rate of their own"
PASSES = "Block-scaled casts, traffic of norms, the stack of DeepSeek-V3"
# Props of this tree's registry that the old binary does not know: prop -> subject of the commit that added it.
# Interleaved jobs of stacks of Megatron core 0.10 and later, and PyTorch's.
INTERLEAVED = ("--vp", "--num-layers-per-virtual-pipeline-stage", "--num-virtual-stages-per-pipeline-rank",
               "--virtual-pipeline-model-parallel-size", "--pipeline-model-parallel-layout")
CORE_0_10 = ("nemo-24.12", "nemo-25.03", "nemo-automodel-2026", "megatron-lm-ci-2025", "megatron-bridge-2026", "megatron-bridge-25.09",
             "megatron-bridge-25.11", "megatron-bridge-26.02", "megatron-bridge-26.02.01", "megatron-bridge-26.04", "megatron-bridge-26.04.01",
             "megatron-bridge-26.06", "torchtitan-2024", "torchtitan-2025")
AS_MANY = r'(?s)"pp": (\d+),\n.*"microbatch_group_size": 0,.*"microbatches": \1,'
RELEASE = "Warm-up where m = p by the stack's Megatron release"
NEW_PROPS = {"ss.gemm.efficiency.fp8_blocks": BLOCKS, "ss.gemm.k_prologue.fp8_blocks": BLOCKS, "ss.gemm.wgrad.fp8_blocks": BLOCKS,
             "ss.norm.passes": PASSES, "ss.host.grouped_gemm": "Experts whose GEMMs the host issues one by one",
             "ss.pp.all_warmup": RELEASE}

def without_band(notes):
    """All but the warning that a job may fit, which has the band of errors in it."""
    return [note for note in notes if not note.startswith("it may fit: measured runs most like it")]


def is_inactive(old, new, holder):
    """Does the new one only note flags of experts besides?"""
    return [note for note in without_band(new) if not note.startswith("not active without --num-experts")] == without_band(old)


def counted(old, new, stack):
    """Is it the count of the fused softmax?"""
    return float(new) in (4, 6)


# What adds to an output without changing what was there. A new field is among the inputs of every job.
RULES = [
    {"commit": CONFIGS, "op": "ignore", "of": ("list",), "path": "models", "why": "more models"},
    {"commit": CONFIGS, "op": "text", "old": r"choose one of gpt2-30b, [^:]*?qwen2\.5-7b", "new": "choose one of " + model_choices(),
     "why": "more models"},
    {"commit": "Every pair of an all-to-all is a flow on its own route", "op": "output", "of": ("expanded", "program"),
     "words": ("a2a",), "old": r"\A(sha256|program)", "new": r"\A(sha256|program)",
     "why": "more flows in the program; the time of these jobs is compared by their runs"},
    {"commit": "Parameters as 8.03B, total and active; names in any case", "op": "add", "path": "inputs.job.active_parameters",
     "why": "those that a token meets"},
    {"commit": "Parameters as 8.03B, total and active; names in any case", "op": "add", "path": "active_parameters", "of": ("plan",),
     "why": "those that a token meets"},
    {"commit": "Words for mixtures of experts: model, job, communicators, costs", "op": "remove",
     "path": "inputs.flags.config_moe_layer_freq", "why": "a rule names the layers that have experts"},
    {"commit": "Inputs have the fields that experts need", "op": "add", "path": "inputs.flags.*",
     "why": "a new field of a job is among the inputs of every job"},
    {"commit": "Mixtures of experts run", "op": "add", "path": "inputs.stack.[ss.default.dispatcher]",
     "why": "a stack names the dispatcher of its release"},
    {"commit": "Mixtures of experts run", "op": "ignore", "path": "inputs.files.*.fnv1a", "check": own_stack,
     "why": "stacks name their dispatcher"},
    *({"commit": BLOCKS, "op": "add", "path": "inputs.platform.card.[%s]" % prop, "why": "a prop that no other recipe reads"}
      for prop in NEW_PROPS if NEW_PROPS[prop] == BLOCKS),
    {"commit": "Experts whose GEMMs the host issues one by one", "op": "add", "path": "inputs.stack.[ss.host.grouped_gemm]",
     "why": "a prop of experts alone"},
    {"commit": PASSES, "op": "add", "path": "inputs.stack.[ss.norm.passes]", "why": "a prop that is 1 in the others' stacks"},
    {"commit": PASSES, "op": "ignore", "of": ("list",), "path": "stacks", "why": "one more"},
    {"commit": PASSES, "op": "text", "old": r"choose one of deepspeed-2026, (.*?), megatron-lm-ci-2025, \.\.\.",
     "new": r"choose one of deepseek-v3, deepspeed-2026, \1, ...", "why": "one more, and as many as fit"},
    {"commit": BLOCKS, "op": "ignore", "path": "inputs.platform.hash", "why": "of these props too"},
    {"commit": BLOCKS, "op": "ignore", "path": "inputs.files.*.fnv1a", "check": own_card, "why": "cards have these props"},
    {"commit": BLOCKS, "op": "text", "old": r"gemm\.small_tile (?=kernel_latency gemm\.efficiency\.fp16 gemm\.efficiency\.fp8 host)",
     "new": "gemm.small_tile gemm.efficiency.fp8_blocks gemm.k_prologue.fp8_blocks gemm.wgrad.fp8_blocks ",
     "why": "those of H20 are assumed"},
    *({"commit": "Flags of experts, latent attention, windows and layouts", "op": "add", "path": "inputs.stack.[%s]" % prop,
       "why": "a stack says what its recipes of mixtures do"} for prop in ("ss.default.grouped_gemm", "ss.default.permute_fusion", "ss.fsdp.pipeline", "ss.fp8.keeps_less", "ss.dispatch.sm_rate")),
    {"commit": "Flags of experts, latent attention, windows and layouts", "op": "order", "path": "inputs.flags",
     "why": "flags of experts are behind the others"},
    {"commit": "Flags of experts, latent attention, windows and layouts", "op": "ignore", "path": "warnings",
     "of": ("run", "plan"), "check": is_inactive, "why": "flags of experts do nothing without experts"},
    *({"commit": "Flags of experts, latent attention, windows and layouts", "op": "ignore", "path": path,
       "why": "errors of the rows like a job, with three more that name the modules that they recompute"}
      for path in ("memory.band_low_pct", "memory.band_high_pct", "memory.band_like", "rows.*.band_low_pct", "rows.*.band_high_pct",
                   "schedules.*.band_low_pct", "schedules.*.band_high_pct")),
    {"commit": "Rows of MXFP8, FSDP inside pipeline stages, activation checkpointing of mixtures", "op": "text",
     "old": r"it is fp32, fp16, bf16 or fp8\b", "new": "it is fp32, fp16, bf16, fp8 or mxfp8", "why": "--precision takes mxfp8"},
    {"commit": "Operators of a layer of experts as Megatron's code has them", "op": "add",
     "path": "inputs.stack.[ss.fused.latent_rope]", "why": "a new prop of latent attention"},
    {"commit": "All-to-all across nodes starts slowly, the host waits for counts", "op": "add",
     "path": "inputs.platform.card.[ss.nic.exchange_half_size]", "why": "a new prop of exchanges across nodes"},
    {"commit": "All-to-all across nodes starts slowly, the host waits for counts", "op": "ignore", "check": counted,
     "path": "inputs.stack.[ss.attention.unfused.passes_backward]", "why": "counted for 16 bit in Megatron's CI"},
    {"commit": "All-to-all across nodes starts slowly, the host waits for counts", "op": "ignore", "check": counted,
     "path": "inputs.stack.[ss.attention.unfused.passes_forward]", "why": "counted for 16 bit in Megatron's CI"},
    {"commit": "Smallest number of GPUs that holds a model's states", "op": "add", "path": "smallest", "of": ("run",),
     "why": "said of a job that does not fit"},
    {"commit": "Muon: steps by Newton-Schulz, one momentum, whole matrices dealt", "op": "text",
     "old": "only adam and hybridadam are modelled", "new": "only adam, hybridadam, muon and dist_muon are modelled",
     "why": "more optimizers"},
    {"commit": "Ranks of a stage stay alike where the model has two copies", "op": "output", "of": ("expanded", "program"),
     "words": ("dualpipe",), "old": r"\A(sha256|program)", "new": r"\A(sha256|program)",
     "why": "the ring of both copies takes them in turn; the time of these jobs is compared by their runs"},
    *({"commit": "Ranks of a stage stay alike where the model has two copies", "op": "ignore", "of": ("run", "plan", "sweep", "compare"),
       "words": ("dualpipe",), "path": path, "why": "fewer classes and other rings; times are compared"}
      for path in ("links.*.*", "limiting_link", "ranks_simulated", "events", "classes")),
    {"commit": "Ranks of a stage stay alike where the model has two copies", "op": "remove", "of": ("run",),
     "words": ("dualpipe",), "path": "links.*", "why": "fewer classes use fewer links of their own"},
    {"commit": RELEASE, "op": "add", "path": "inputs.stack.[ss.pp.all_warmup]", "why": "a new prop of interleaved 1F1B"},
    {"commit": RELEASE, "op": "output", "of": ("run", "plan"), "words": CORE_0_10, "beside": INTERLEAVED, "old": AS_MANY, "new": AS_MANY,
     "why": "m = p is no case of its own in these releases"},
    {"commit": RELEASE, "op": "output", "of": ("program", "expanded", "read", "pictures", "compare", "sweep"), "words": CORE_0_10,
     "beside": INTERLEAVED, "old": "", "new": "", "why": "the same; their runs are compared"},
    *({"commit": "Results carry the digits that hold", "op": "add", "path": path, "why": "how far contention moves an answer"}
      for path in ("sensitivity_pct", "sensitivity", "rows.*.sensitivity_pct", "schedules.*.sensitivity_pct",
                   "rows.*.figures.sensitivity_pct")),
]

# Flags of this tree's table that the old binary does not know: flag -> subject of the commit that added it.
NEW_FLAGS = dict.fromkeys((
    "--pipeline-model-parallel-layout --fp8-recipe --cuda-graph-impl --enable-cuda-graph --external-cuda-graph --moe-layer-recompute --fine-grained-activation-offloading --offload-modules --use-precision-aware-optimizer --softmax-type --qk-layernorm --window-size --window-attn-skip-freq --multi-latent-attention --q-lora-rank --kv-lora-rank --qk-head-dim --qk-pos-emb-head-dim --v-head-dim --moe-topk "
    "--moe-shared-expert-gate --moe-router-num-groups --moe-router-group-topk --moe-router-enable-expert-bias --moe-router-dtype --moe-router-force-load-balancing --moe-router-force-biased --moe-load "
    "--moe-token-dispatcher-type --moe-flex-dispatcher-backend --moe-enable-deepep --moe-flex-dispatcher-num-sms --moe-deepep-num-sms --moe-hybridep-num-sms --moe-dispatch-fwd-dtype --moe-combine-bwd-dtype "
    "--fp8-dispatch --moe-expert-capacity-factor --moe-pad-expert-input-to-capacity --moe-router-padding-for-fp8 --moe-router-padding-for-quantization --moe-permute-fusion --moe-grouped-gemm --moe-shared-expert-overlap --overlap-moe-expert-parallel-comm --delay-wgrad-compute"
).split(), "Flags of experts, latent attention, windows and layouts")

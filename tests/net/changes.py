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
                                one; nothing in it is compared then; whole=True: stderr and exit status neither, and `old`
                               looks into stderr, too
      exit     map              {old: new} exit status; with path and value only where the old JSON has it
      refused  words, hint      what was ignored is a usage error now: a job with one of these words exits 2, and its
                                message contains the hint

A path is keys with dots between them; * is every element of an array or every key; a key with dots, as
ss.power, is written in brackets: inputs.platform.card.[ss.power]. Numbers are compared as text, and a number
in a `value` map is written as that text.

A rule that applies to no output of a whole run fails the run: drop it when the old binary has the change too.
"""

import re

# Interleaved jobs of stacks of Megatron core 0.10 and later, and PyTorch's.
INTERLEAVED = ("--vp", "--num-layers-per-virtual-pipeline-stage", "--num-virtual-stages-per-pipeline-rank",
               "--virtual-pipeline-model-parallel-size", "--pipeline-model-parallel-layout")
CORE_0_10 = ("nemo-24.12", "nemo-25.03", "nemo-automodel-2026", "megatron-lm-ci-2025", "megatron-bridge-2026", "megatron-bridge-25.09",
             "megatron-bridge-25.11", "megatron-bridge-26.02", "megatron-bridge-26.02.01", "megatron-bridge-26.04", "megatron-bridge-26.04.01",
             "megatron-bridge-26.06", "torchtitan-2024", "torchtitan-2025")
ORDERS = "Orders of PyTorch's zero bubble: W of the V, several chunks, few microbatches"
FEW = r"schedule (zb-v|zb-h1|looped-bfs) over \d+ stages needs at least"


def keeps_rows(old, new, holder):
    """Are all schedules of before there with the same row? Those of these commits may differ."""
    rows = {row["schedule"]: row for row in new}
    return all(row["schedule"] == "zb-v" or row == rows.get(row["schedule"]) or "needs at least" in row.get("reason", "") for row in old)


def fewer_or_longer(old, new, holder):
    """Is the layout one whose last stage has other layers, as only the new one tries them?"""
    return any("--decoder-last-pipeline-num-layers" in str(text) for text in (new, holder["flags"]))


AS_MANY = r'(?s)"pp": (\d+),\n.*"microbatch_group_size": 0,.*"microbatches": \1,'
# Inputs of runs whose collectives meet narrow uplinks; flags of jobs whose collectives inside slots may cross nodes.
UPLINKS = r'"level_reason"|"ss.oversubscription=(?!1")|own-\d+.xml"'
ACROSS = ("--cp", "--context-parallel-size", "--ep", "--expert-model-parallel-size", "--fsdp", "--use-megatron-fsdp", "--use-torch-fsdp2",
          "--rank-order", "--use-tp-pp-dp-mapping")
SHARES = "Closed forms take their group's share of the links"
OFFLOAD = "Offload by module: tensors of a module to the host and back"
MASKED = "Masks between documents: a note says what they do not save"
PACKED = "Packed sequences: attention by squares, FLOP, imbalance"
FACTORS = "Factors, soft caps and narrow embeddings are priced"
FACTORED = ("gemma-2b", "gemma-7b", "gemma-2-2b", "gemma-2-9b", "gemma-2-27b", "gemma-3-1b", "gemma-3-4b", "gemma-3-12b", "gemma-3-27b",
            "grok1-314b", "llama4-scout", "llama4-maverick", "opt-350m")
ASKED = "Flags of experts and of Muon are obeyed, refused or told of"
JITTER = "Noise on a router's input is priced"
RELEASE = "Warm-up where m = p by the stack's Megatron release"
LOCKSTEP = "Replicas of jitter by classes in lockstep, over all cores"
# Jobs of mixtures of experts, whose predictions are no longer those of the old binary.
MIXTURES = ("--num-experts", "deepseek-moe-16b", "deepseek-v2-lite", "deepseek-v2", "deepseek-v3", "glm-4.5-air", "glm-4.5",
            "gpt-oss-120b", "gpt-oss-20b", "grok1-314b", "kimi-k2", "llama4-maverick", "llama4-scout", "mixtral-8x22b",
            "mixtral-8x7b", "moonlight-16b", "olmoe-1b-7b", "phi-3.5-moe", "qwen1.5-moe-a2.7b", "qwen2-57b-a14b",
            "qwen3-235b-a22b", "qwen3-30b-a3b")
CALLS = "Host calls of mixtures and of checkpointing; probabilities are exchanged"
OWN_TYPE = "Adam may step a 16-bit model itself, as in NeMo AutoModel"
CURRENT = "Current scaling as Transformer Engine does it"
UNFUSED = "Unfused attention as Transformer Engine does it"
LAST_RANK = "Megatron's CI logs its last rank and keeps the softmax in fp32"
# Props of this tree's registry that the old binary does not know: prop -> subject of the commit that added it.
# Stacks whose NCCL has PAT; tensor groups that fill a node.
NCCL_2_25 = ("nemo-25.03", "nemo-automodel-2026", "megatron-lm-ci-2025", "megatron-bridge-25.09", "megatron-bridge-25.11", "megatron-bridge-2026",
             "megatron-bridge-26.02", "megatron-bridge-26.02.01", "megatron-bridge-26.04", "megatron-bridge-26.04.01", "megatron-bridge-26.06")
ALONE = r'"tp": (4|8|16),'
TREES = "Trees over nodes, NVLSTree and PAT as flows on their links"
NEW_PROPS = {"ss.nccl.pat": TREES, "ss.nccl.nvls_tree": TREES, "ss.pp.all_warmup": RELEASE, "ss.dispatch.sm_rate_alone": "A dispatcher's SMs are faster where no kernels run beside them"}
NEW_PROPS = {"ss.pp.all_warmup": RELEASE, "ss.dispatch.sm_rate_alone": "A dispatcher's SMs are faster where no kernels run beside them",
             "ss.optimizer.model_type": OWN_TYPE, "ss.attention.unfused.te": UNFUSED}


def own_stack(old, new, file):
    """Is the file one of ours? A value of it that changes shows among the inputs."""
    return file["data"].startswith("workloads/stacks/")


def of_level(old, new, holder):
    """Are these the warnings of before but for what they say of links?"""
    known = [w for w in new if not re.search(r"(chunk|layer) level (is|may be)", w)]
    return known == [w for w in old if not w.startswith("across nodes exchanges of")]


def crosses(old, new, fix):
    """Does the fix tear groups over nodes, or move traffic between them?"""
    return bool(re.search(r"--(tensor-model|context|expert-model)[a-z-]* \d+", fix["change"]))


# What adds to an output without changing what was there. A new field is among the inputs of every job.
RULES = [
    {"commit": "The README begins with a mixture of experts and a picture", "op": "text", "old": "nemo-16, or give a path",
     "new": "nemo-16, qwen3-30b-16, or give a path", "why": "one more job"},
    {"commit": RELEASE, "op": "add", "path": "inputs.stack.[ss.pp.all_warmup]", "why": "a new prop of interleaved 1F1B"},
    {"commit": RELEASE, "op": "ignore", "path": "inputs.files.*.fnv1a", "check": own_stack, "why": "stacks name the prop"},
    {"commit": RELEASE, "op": "output", "of": ("run", "plan"), "words": CORE_0_10, "beside": INTERLEAVED, "old": AS_MANY, "new": AS_MANY,
     "why": "m = p is no case of its own in these releases"},
    {"commit": RELEASE, "op": "output", "of": ("program", "expanded", "read", "pictures", "compare", "sweep"), "words": CORE_0_10,
     "beside": INTERLEAVED, "old": "", "new": "", "why": "the same; their runs are compared"},
    {"commit": "A dispatcher's SMs are faster where no kernels run beside them", "op": "add",
     "path": "inputs.stack.[ss.dispatch.sm_rate_alone]", "why": "a prop of the stack deepseek-v3 alone"},
    {"commit": LOCKSTEP, "op": "add", "path": "jitter.confidence_95_ms", "why": "how sure the percentiles are"},
    *({"commit": LOCKSTEP, "op": "ignore", "of": ("run",), "path": path, "words": ("--jitter",), "without": ("--unfold",),
       "check": lambda old, new, whole: True, "why": "ranks in lockstep are one class: fewer to replay and to list"}
      for path in ("ranks_simulated", "events", "links", "limiting_link")),
    *({"commit": "Results carry the digits that hold", "op": "add", "path": path, "why": "how far contention moves an answer"}
      for path in ("sensitivity_pct", "sensitivity", "rows.*.sensitivity_pct", "schedules.*.sensitivity_pct",
                   "rows.*.figures.sensitivity_pct")),
    {"commit": SHARES, "op": "output", "words": ("--slow-link", "--placement"), "old": "", "new": "", "whole": True,
     "why": "collectives inside slots meet slow links and those between nodes"},
    {"commit": SHARES, "op": "output", "of": ("run", "plan"), "old": "", "new": UPLINKS,
     "why": "uplinks narrower than NICs, and runs that go to flow level of themselves"},
    {"commit": SHARES, "op": "output", "of": ("program", "expanded", "read", "pictures", "compare", "sweep"), "words": ACROSS, "old": "",
     "new": "", "whole": True, "why": "the same of their programs"},
    {"commit": SHARES, "op": "ignore", "path": "warnings", "check": of_level, "why": "how far the level that was asked for is off"},
    {"commit": SHARES, "op": "ignore", "path": "fixes.*.iteration_ms", "check": crosses, "why": "tensor groups over nodes"},
    {"commit": SHARES, "op": "ignore", "path": "fixes.*.cost_pct", "check": crosses, "why": "tensor groups over nodes"},
    {"commit": TREES, "op": "output", "of": ("run",), "words": NCCL_2_25, "old": ALONE, "new": ALONE,
     "why": "small buffers of ranks alone on their nodes take fewer steps"},
    {"commit": TREES, "op": "output", "of": ("program", "expanded", "pictures", "compare", "sweep"), "words": NCCL_2_25,
     "beside": ("8", "16"), "old": "", "new": "", "why": "the same; their runs are compared"},
    *({"commit": TREES, "op": "add", "path": "inputs.stack.[%s]" % prop, "why": "algorithms of NCCL"}
      for prop in ("ss.nccl.pat", "ss.nccl.nvls_tree")),
    *({"commit": OFFLOAD, "op": "add", "path": "inputs.flags." + key, "why": "a new flag, and one that had the field of another"}
      for key in ("min_offloaded_tensor_size", "activation_offload_fraction", "fine_grained_offloading_max_inflight_offloads",
                  "external_cuda_graph")),
    *({"commit": PACKED, "op": "add", "path": "inputs.flags." + key, "why": "new flags, and three that had no effect"}
      for key in ("packed_law", "packed_low", "packed_high", "packed_source", "packed_algorithm", "packed_multiple", "packed_seed",
                  "sft", "reset_attention_mask", "reset_position_ids")),
    {"commit": MASKED, "op": "add", "path": "inputs.flags.dataloader_inter_document_masking", "why": "a flag that had no effect"},
    {"commit": ORDERS, "op": "ignore", "of": ("compare",), "path": "schedules", "check": keeps_rows, "why": "more schedules"},
    {"commit": ORDERS, "op": "ignore", "of": ("list",), "path": "schedules", "why": "more schedules"},
    {"commit": ORDERS, "op": "output", "of": ("schedule",), "old": r'"(command": "schedule list|schedule": "zb-v)"', "new": "",
     "why": "more schedules; W of the V in another order"},
    {"commit": ORDERS, "op": "output", "of": ("run", "plan", "program", "expanded", "read", "pictures", "sweep"), "words": ("zb-v",),
     "old": "", "new": "", "whole": True, "why": "W of the V in PyTorch's order"},
    {"commit": ORDERS, "op": "output", "words": ("zb-h1", "looped-bfs"), "old": FEW, "new": "", "whole": True,
     "why": "few microbatches are no refusal"},
    {"commit": "The layer level replays its collectives on their links", "op": "output", "words": ("layer",), "old": "", "new": "",
     "why": "what flow level predicts; the other levels of these kinds of jobs are compared"},
    *({"commit": "A flag of several values shows all of them where one is wrong", "op": "text", "old": "--cp-comm-type %s: a type" % a,
       "new": "--cp-comm-type %s %s: a type" % (a, b), "why": "the message named the first value"} for a, b in (("p2p", "a2a"), ("a2a", "p2p"))),
    {"commit": ASKED, "op": "add", "path": "inputs.flags.moe_router_dtype", "why": "a flag that had no effect"},
    {"commit": ASKED, "op": "add", "path": "inputs.flags.enable_deepep", "why": "a flag that is checked"},
    *({"commit": FACTORS, "op": "add", "path": "inputs.flags.config_" + key, "why": "a new field of a model"}
      for key in ("embedding_scale", "logits_scale", "logits_softcap", "attention_softcap", "full_unturned", "query_scale")),
    *({"commit": JITTER, "op": "add", "path": "inputs.flags." + key, "why": "a flag whose cost was not modelled, and a field of a model"}
      for key in ("moe_input_jitter_eps", "config_input_jitter")),
    {"commit": FACTORS, "op": "output", "words": FACTORED, "old": "", "new": "",
     "why": "Gemma, Grok, Llama 4 and OPT-350m: what their configs say is priced; Llama 4's chunks shorten its attention"},
    {"commit": CALLS, "op": "output", "words": MIXTURES, "old": "", "new": "", "why": "mixtures cost more; their rows are validated"},
    {"commit": CALLS, "op": "output", "words": ("selective", "--recompute-activations"), "old": "", "new": "",
     "why": "modules that are repeated cost the host more; no row of a dense model moves"},
    {"commit": OWN_TYPE, "op": "add", "path": "inputs.stack.[ss.optimizer.model_type]", "why": "a prop of the stack nemo-automodel-2026"},
    {"commit": "Memory has the buffers that DeepEP registers", "op": "output", "words": ("flex", "deepep", "--moe-enable-deepep"), "old": "", "new": "", "why": "stages with experts need more"},
    {"commit": OWN_TYPE, "op": "output", "words": ("nemo-automodel-2026",), "old": "", "new": "", "why": "10 bytes a parameter fewer"},
    {"commit": CURRENT, "op": "output", "words": ("tensorwise",), "old": "", "new": "", "why": "a pass more over what is cast to fp8"},
    {"commit": UNFUSED, "op": "add", "path": "inputs.stack.[ss.attention.unfused.te]", "why": "a prop of the stack megatron-lm-ci-2025 alone"},
    {"commit": LAST_RANK, "op": "output", "words": ("megatron-lm-ci-2025",), "old": "", "new": "", "why": "another stage's memory, and more of it"},
    *({"commit": "Smallest number of GPUs: stages that do not divide the layers", "op": "ignore", "of": ("run",), "path": "smallest." + key,
       "check": fewer_or_longer, "why": "pipelines that do not divide the layers are tried, too"} for key in ("flags", "gpus", "static_mib")),
]

# Flags of this tree's table that the old binary does not know: flag -> subject of the commit that added it.
NEW_FLAGS = dict.fromkeys(("--min-offloaded-tensor-size", "--activation-offload-fraction",
                           "--fine-grained-offloading-max-inflight-offloads"), OFFLOAD)
NEW_FLAGS.update(dict.fromkeys(("--packed-lengths", "--packed-algorithm", "--packed-multiple", "--packed-seed"), PACKED))
NEW_FLAGS.update(dict.fromkeys(("--moe-router-dtype", "--moe-router-score-function", "--moe-router-load-balancing-type",
                                "--muon-coefficient-type", "--muon-scalar-optimizer", "--muon-fp32-matmul-prec"), ASKED))
NEW_FLAGS["--moe-input-jitter-eps"] = JITTER

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
      moved    check=function(old object, new object)   the prediction itself is another, so nothing else is compared;
                               only of jobs with these words, which may be values of flags, too, and both exit alike. Of plain text no check
      refused  words, hint      what was ignored is an error now: a job with one of these words exits 2 or 3, and its
                                message contains the hint

A path is keys with dots between them; * is every element of an array or every key; a key with dots, as
ss.power, is written in brackets: inputs.platform.card.[ss.power]. Numbers are compared as text, and a number
in a `value` map is written as that text.

A rule that applies to no output of a whole run fails the run: drop it when the old binary has the change too.
"""

_WIDTHS = "Bytes of GEMMs in reports are the priced ones; props tell what cards can"
_WORDS = "Words of a job that contradict each other are refused, later ones win"
_SAID = "Inputs of a result have what new flags said"
_PLACE = "Inputs of a result say on which nodes the job is"
_LOOPS = "What ranks idle in a loop is that of all its turns"
_IGNORED = "What has no effect is a list of its own, not among the warnings"
_COLOURS = "Pictures: errors over time, an optimizer that is no grey, idle that recedes"
_PATCHED = "Flags that Pai-Megatron-Patch adds, each with its treatment"
_FIELDS = "A field of a model is one row"
_ASKED = "A job is made of what is asked for, and complete"
_ROWS = "A precision is a row"
_LIBRARY = "NCCL's and RCCL's numbers are files"
_MI300X = "MI300X: a card with another fabric and another library"
_VERSION = "Version 0.2.0; a changelog of what a user sees"
_MESH = "A part of a mesh has the links of its own pairs alone"
_FRACTIONS = ("bubble_fraction", "imbalance_fraction", "spread_fraction")

_CAPACITY = "stepsim capacity: nodes, days, money and energy of a training"
_CAPACITY_PROPS = ("ss.power.idle", "ss.power.node", "ss.power.pue", "ss.price.example", "ss.mtbf", "ss.restart",
                   "ss.storage.bandwidth")

# Props of this tree's registry that the old binary does not know: prop -> subject of the commit that added it.
NEW_PROPS = {p: _WIDTHS for p in ("ss.gemm.fp8_any_layout", "ss.recompute.by_operator", "ss.cp.own")}
NEW_PROPS.update(dict.fromkeys(_CAPACITY_PROPS, _CAPACITY))


def _no_faster(old, new):
    """A group has fewer links than before, or as many; pipelines no longer share them with it."""
    return "iteration_ms" not in old or float(new["iteration_ms"]) > 0.95 * float(old["iteration_ms"])


def _without_library(old, new, _):
    """One more file is read, the last that the platform is made of; what the others hold may be spelt otherwise."""
    old, new = ([{k: v for k, v in f.items() if k != "fnv1a"} for f in files] for files in (old, new))
    return [f for f in new if f.get("data") != "workloads/libraries/nccl.xml"] == old and len(new) == len(old) + 1


def _but_mi300x(old, new, _):
    """A list by name with one more."""
    return [x for x in new if x["name"] != "mi300x"] == old


RULES = [
    {"commit": _VERSION, "why": "a version", "op": "ignore", "path": "version", "check": lambda old, new, _: (old, new) == ("0.1.0", "0.2.0")},
    {"commit": _VERSION, "why": "which a trace tells", "of": ("pictures",), "op": "ignore", "path": "[trace.json]"},
    {"commit": _MI300X, "why": "a platform", "of": ("list",), "op": "ignore", "path": "platforms", "check": _but_mi300x},
    {"commit": _MI300X, "why": "its card", "of": ("list",), "op": "ignore", "path": "cards", "check": _but_mi300x},
    {"commit": _MI300X, "why": "a platform", "op": "text", "old": "h200, h800, v100,", "new": "h200, h800, mi300x, v100,"},
    {"commit": _LIBRARY, "why": "what NCCL takes is read from its file", "op": "ignore", "path": "inputs.files", "check": _without_library},
    {"commit": _ROWS, "why": "the words of --precision are those of its rows", "op": "text", "old": "it is fp32, fp16, bf16, fp8, mxfp8 or nvfp4",
     "new": "it is one of fp32 fp16 bf16 fp8 nvfp4 mxfp8"},
    {"commit": _MESH, "why": "the shipped meshes", "op": "moved", "words": ("v100", "v100-32g"), "check": _no_faster},
    {"commit": _MESH, "why": "measured runs on a mesh with data parallelism over a part of it", "of": ("validate",), "op": "ignore",
     "path": "rows.*", "check": lambda old, new, _: old["id"].startswith("v100") and
     abs(float(new["predicted_ms"]) - float(old["predicted_ms"])) < 15},
    {"commit": _MESH, "why": "their group", "of": ("validate",), "op": "ignore", "path": "groups.quality.C.time.*",
     "check": lambda old, new, _: abs(float(new) - float(old)) < 0.005},
] + [
    {"commit": _CAPACITY, "why": "props that plans of capacity read", "op": "add", "path": "inputs.platform.card.[%s]" % prop}
    for prop in _CAPACITY_PROPS
] + [
    {"commit": _IGNORED, "why": "names of flags without effect", "of": ("run", "plan"), "op": "add", "path": "ignored"},
    {"commit": _IGNORED, "why": "which the warnings had", "of": ("run", "plan"), "op": "value", "path": "warnings",
     "map": lambda old: [text for text in old if not text.startswith("accepted without effect")]},
] + [
    {"commit": _PATCHED, "why": "it sets a position that no other flag does alone", "op": "add", "path": "inputs.flags.enable_gpt_oss"},
] + [
    {"commit": _COLOURS, "why": "the optimizer has a colour", "of": ("pictures",), "op": "ignore", "path": "[gantt.svg]"},
] + [
    {"commit": _SAID, "why": "words of flags that the inputs did not tell", "op": "add", "path": "inputs.flags." + key}
    for key in ("recompute_short", "precision_mxfp8", "fp4_param_gather", "fp4_recipe_given", "graph_scope_given")
] + [
    {"commit": _FIELDS, "why": "every field of the model is told", "op": "add", "path": "inputs.model." + key}
    for key in ("top_k", "moe_ffn_hidden_size", "shared_expert_ffn_hidden_size", "shared_expert_gate", "router_groups", "router_group_topk",
                "router_bias", "q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim", "mtp_num_layers",
                "extra_in_checkpoint")
] + [
    {"commit": _ASKED, "why": "in the order of the rows", "op": "order", "path": "inputs.flags"},
    {"commit": _ASKED, "why": "what --recompute full asks for was told when it was gone", "op": "ignore",
     "path": "inputs.flags.recompute_short", "check": lambda old, new, _: (old, new) == ("0", "1")},
] + [
    {"commit": _PLACE, "why": "a job may be on some nodes of a cluster", "op": "add", "path": "inputs.job.on_nodes"}
] + [
    {"commit": _WIDTHS, "why": "the hash is over all props of a card", "op": "ignore", "path": path}
    for path in ("inputs.platform.hash", "hash", "inputs.files.*.fnv1a")
] + [
    {"commit": _WORDS, "why": "one of two formats won without a word", "op": "refused", "words": words, "hint": hint}
    for words, hint in ((("--fp4-format",), "they cannot be used simultaneously"), (("--bf16", "--fp16"), "beside --precision"))
] + [
    {"commit": _WIDTHS, "why": "a prop of its own", "op": "add", "path": path}
    for path in ("inputs.platform.card.[ss.gemm.fp8_any_layout]", "inputs.stack.[ss.recompute.by_operator]", "inputs.stack.[ss.cp.own]")
] + [
    {"commit": _WIDTHS, "why": "bytes of GEMMs are those that their time counts", "of": ("run",), "op": "ignore",
     "path": "compute.kernels.*." + key, "check": lambda old, new, _: True}
    for key in ("gbps", "hbm_share")
] + [
    {"commit": _LOOPS, "why": "pipelines that settle late", "op": "ignore", "path": path, "check": check}
    for path, check in [(at + f, lambda old, new, _: abs(float(new) - float(old)) <= 2e-3)
                        for at in ("", "rows.*.figures.") for f in _FRACTIONS] +
                       [(at + label, lambda old, new, whole: abs(float(new) - float(old)) <= 2e-3 * sum(map(float, whole.values())))
                        for at in ("breakdown_ms.", "stage_breakdown.*.") for label in ("bubble", "imbalance", "spread")]
]

# Flags of this tree's table that the old binary does not know: flag -> subject of the commit that added it.
NEW_FLAGS = dict.fromkeys(("--intermediate-size", "--qk-nope-head-dim", "--qk-rope-head-dim", "--enable-gpt-oss", "--activations-checkpoint-method", "--activations-checkpoint-num-layers",
                           "--use-mistral-rotary-position-embeddings"), _PATCHED)

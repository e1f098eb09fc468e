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

_WORDS = "Words of a job that contradict each other are refused, later ones win"
_FIELDS = "A field of a model is one row"
_ASKED = "A job is made of what is asked for, and complete"
_ROWS = "A precision is a row"
_LIBRARY = "NCCL's and RCCL's numbers are files"
_MI300X = "MI300X: a card with another fabric and another library"
_VERSION = "Version 0.2.0; a changelog of what a user sees"
_MESH = "A part of a mesh has the links of its own pairs alone"
_FABRIC = "A link inside a node is one of a fabric, by its name"
_ENGLISH = "Messages are understood at first reading: doctor and others"
_NATIVE = "run replays on the native engine by default"
_FOLDS = "Parameters and FLOP of a model are sums over its operators"

# Props of this tree's registry that the old binary does not know: prop -> subject of the commit that added it.
NEW_PROPS = {"ss.library": _LIBRARY, "ss.fabric.name": _FABRIC}


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
    {"commit": _NATIVE, "why": "the default engine", "of": ("run",), "without": ("--engine",), "op": "value", "path": "engine", "map": {"simgrid": "native"}},
    {"commit": _VERSION, "why": "a version", "op": "ignore", "path": "version", "check": lambda old, new, _: (old, new) == ("0.1.0", "0.2.0")},
    {"commit": _VERSION, "why": "which a trace tells", "of": ("pictures",), "op": "ignore", "path": "[trace.json]"},
    {"commit": _MI300X, "why": "a platform", "of": ("list",), "op": "ignore", "path": "platforms", "check": _but_mi300x},
    {"commit": _MI300X, "why": "its card", "of": ("list",), "op": "ignore", "path": "cards", "check": _but_mi300x},
    {"commit": _MI300X, "why": "a platform", "op": "text", "old": "h200, h800, v100,", "new": "h200, h800, mi300x, v100,"},
    {"commit": _LIBRARY, "why": "what NCCL takes is read from its file", "op": "ignore", "path": "inputs.files", "check": _without_library},
    {"commit": _ROWS, "why": "the words of --precision are those of its rows", "op": "text", "old": "it is fp32, fp16, bf16, fp8, mxfp8 or nvfp4",
     "new": "it is one of fp32 fp16 bf16 fp8 nvfp4 mxfp8"},
    {"commit": _FABRIC, "why": "a hint names no NVLink", "op": "text", "old": "NODE is an NVLink domain here", "new": "NODE is a domain of the fabric here"},
    {"commit": _ENGLISH, "why": "a warning", "op": "text",
     "old": "--num-query-groups counts, though Megatron-LM has as many groups as heads without --group-query-attention",
     "new": "--num-query-groups is used, although Megatron-LM ignores it without --group-query-attention"},
] + [
    {"commit": _FOLDS, "why": "LayerNorms of latent attention have biases, which the sum forgot", "words": ("LayerNorm",), "op": "ignore", "path": path,
     "check": lambda old, new, _: 0 < int(new) - int(old) < 1e-5 * int(old)}
    for path in ("parameters", "inputs.job.parameters", "inputs.job.active_parameters")
] + [
    {"commit": _MESH, "why": "the shipped meshes", "op": "moved", "words": ("v100", "v100-32g"), "check": _no_faster},
    {"commit": _MESH, "why": "measured runs on a mesh with data parallelism over a part of it", "of": ("validate",), "op": "ignore",
     "path": "rows.*", "check": lambda old, new, _: old["id"].startswith("v100") and
     abs(float(new["predicted_ms"]) - float(old["predicted_ms"])) < 15},
    {"commit": _MESH, "why": "their group", "of": ("validate",), "op": "ignore", "path": "groups.quality.C.time.*",
     "check": lambda old, new, _: abs(float(new) - float(old)) < 0.005},
] + [
    {"commit": _FIELDS, "why": "every field of the model is told", "op": "add", "path": "inputs.model." + key}
    for key in ("top_k", "moe_ffn_hidden_size", "shared_expert_ffn_hidden_size", "shared_expert_gate", "router_groups", "router_group_topk",
                "router_bias", "q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim", "mtp_num_layers",
                "extra_in_checkpoint")
] + [
    {"commit": _ASKED, "why": "in the order of the rows", "op": "order", "path": "inputs.flags"},
    {"commit": _ASKED, "why": "what --recompute full asks for was told when it was gone", "op": "ignore",
     "path": "inputs.flags.recompute_short", "check": lambda old, new, _: (old, new) == ("0", "1")},
]

# Flags of this tree's table that the old binary does not know: flag -> subject of the commit that added it.
NEW_FLAGS = {}

# SPDX-License-Identifier: Apache-2.0
"""Shapes of the models in workloads/models, which are Hugging Face's config.json under the names of several families."""
import collections
import glob
import json
import math
import os

from measure import fail

# `head`: channels of a query and a key, `value`: of a value. `experts` 0: none. `ffn` is the width of the dense MLP, `expert_ffn` of one expert.
Model = collections.namedtuple("Model", "name family hidden heads groups head value ffn vocab experts top_k expert_ffn")


def read(config, *names):
    """The first of these fields that says a number above 0."""
    return next((config[n] for n in names if isinstance(config.get(n), int) and config[n] > 0), 0)


def shape_of(name, config):
    hidden = read(config, "hidden_size", "n_embd", "n_embed", "d_model")
    heads = read(config, "num_attention_heads", "n_head", "n_heads")
    shared = 1 if config.get("multi_query") and not config.get("new_decoder_architecture") else heads
    latent = read(config, "qk_nope_head_dim")
    head = latent + read(config, "qk_rope_head_dim") if latent else read(config, "head_dim") or hidden // max(heads, 1)
    ffn = read(config, "intermediate_size", "ffn_dim", "n_inner") or 4 * hidden
    return Model(
        name, config.get("model_type", ""), hidden, heads, heads if latent else read(config, "num_key_value_heads", "num_kv_heads") or shared,
        head, read(config, "v_head_dim") or head if latent else head, ffn,
        read(config, "vocab_size") + read(config.get("stepsim", {}), "extra_vocab_size"),
        read(config, "num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"),
        read(config, "num_experts_per_tok", "moe_k", "moe_topk"), read(config, "moe_intermediate_size") or ffn)


def load(path):
    try:
        with open(path, encoding="utf-8") as f:
            model = shape_of(os.path.splitext(os.path.basename(path))[0], json.load(f))
    except (OSError, ValueError, AttributeError) as e:
        fail("%s: no config.json of a model (%s)" % (path, e))
    if not (model.hidden and model.heads):
        fail("%s: it says no hidden size or no heads" % path)
    return model


def load_all(folder):
    """All of them, by name."""
    found = [load(path) for path in sorted(glob.glob(os.path.join(folder, "*.json")))]
    if not found:
        fail("%s: no models there: run it in stepsim's source folder" % folder)
    return found


def spread(items, count):
    """So many of them, all if there are no more: steps of the golden section visit a sorted list evenly, however early they end."""
    items = sorted(set(items))
    stride = int(len(items) * 0.6180339887) | 1
    while math.gcd(stride, len(items)) > 1:
        stride += 1
    return [items[i * stride % len(items)] for i in range(min(count, len(items)))]

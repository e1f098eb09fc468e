#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the parameters of hybrid models from the facts of their config.json, tensor by tensor, beside the published figures.

    python3 docs/design/hybrid-models.py [NAME ...]     # the rows of the table in hybrid-models.md
    python3 docs/design/hybrid-models.py -v NAME        # the same by part
    python3 docs/design/hybrid-models.py --check        # whether hybrid-models.md has these counts, and exact published ones are met

The shapes are those of the modelling code that hybrid-models.md and mixers.md name. The script reads workloads/models, or tests/models/hybrid for models that
are shipped in another form, and nothing of the program: it is the independent check of the program's counts. Non-trained tables of integers (hash routes) are no parameters here.
"""
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIGS = [os.path.join(HERE, "..", "..", folder) for folder in ("tests/models/hybrid", "workloads/models")]

# Published figures in billions: total, active, and what they say beside that. None: not published. Sources: hybrid-models.md.
PUBLISHED = {
    "qwen3-next-80b-a3b": (80, 3), "qwen3.5-0.8b": (0.8, None), "qwen3.5-2b": (2, None), "qwen3.5-4b": (4, None), "qwen3.5-9b": (9, None),
    "qwen3.5-27b": (27, None), "qwen3.5-35b-a3b": (35, 3), "qwen3.5-122b-a10b": (122, 10), "qwen3.5-397b-a17b": (397, 17),
    "qwen3.8-flash-next": (125 + 51, 6), "kimi-linear-48b-a3b": (48, 3), "kimi-k3": (2800, 104),
    "deepseek-v3.2": (671, 37), "deepseek-v4-flash": (284, 13), "deepseek-v4": (1600, 49), "glm-5": (744, 40),
    "nemotron-h-8b": (8.1, None), "nemotron-h-47b": (47, None), "nemotron-h-56b": (56, None), "nemotron-3-nano-30b-a3b": (31.6, 3.6),
    "nemotron-3-super-120b-a12b": (120.6, 12.7), "nemotron-3-ultra-550b-a55b": (550, 55),
    "minimax-text-01": (456, 45.9), "minimax-m3": (428, 22), "jamba-1.5-mini": (52, 12), "jamba-1.5-large": (398, 94),
    "falcon-h1-0.5b": (0.521411104, None), "falcon-h1-1.5b": (1.554863488, None), "falcon-h1-1.5b-deep": (1.554872208, None), "falcon-h1-3b": (3, None), "falcon-h1-7b": (7.585648736, None),
    "granite-4.0-h-350m": (0.34, None), "granite-4.0-h-1b": (1.5, None), "granite-4.0-h-micro": (3, None), "granite-4.0-h-tiny": (7, 1),
    "granite-4.0-h-small": (32, 9), "zamba2-1.2b": (1.2, None), "zamba2-2.7b": (2.7, None), "zamba2-7b": (7, None),
    "bamba-9b": (9.78, None), "ring-mini-linear-2.0": (16.4, 1.6), "ring-flash-linear-2.0": (104, 6.1),
    "lfm2-350m": (0.354483968, None), "lfm2-700m": (0.742489344, None), "lfm2-1.2b": (1.170340608, None), "lfm2-2.6b": (2.569272320, None), "lfm2-8b-a1b": (8.3, 1.5),
    "rwkv7-0.1b": (0.191034624, None), "rwkv7-0.4b": (0.450767872, None), "rwkv7-1.5b": (1.527404544, None), "rwkv7-2.9b": (2.94773504, None),
    "mamba2-130m": (0.13, None), "mamba2-370m": (0.37, None), "mamba2-780m": (0.78, None), "mamba2-1.3b": (1.3, None), "mamba2-2.7b": (2.7, None),
    "codestral-mamba-7b": (7.285403648, None), "mamba-130m": (0.13, None), "mamba-370m": (0.37, None), "mamba-790m": (0.79, None),
    "mamba-1.4b": (1.4, None), "mamba-2.8b": (2.8, None), "falcon-mamba-7b": (7.27, None),
}


class Count:
    """Parameters by part; those of routed experts also as used by one token; those of multi-token prediction apart."""

    def __init__(self):
        self.parts, self.idle, self.lookup, self.mtp, self.mtp_idle = {}, 0, 0, 0, 0

    def add(self, part, n):
        self.parts[part] = self.parts.get(part, 0) + n

    def total(self):
        return sum(self.parts.values())

    def active(self):
        return self.total() - self.idle


def attention(h, heads, groups, dim, gate=False, norms=False, vdim=None):
    """Grouped queries; a gate of the output doubles the query projection; norms of a head on queries and keys."""
    vdim = vdim or dim
    return h * heads * dim * (2 if gate else 1) + h * groups * (dim + vdim) + heads * vdim * h + (2 * dim if norms else 0)


def latent(h, heads, c):
    """Multi-head latent attention: queries by a rank (or whole), keys and values by one, two norms; Kimi-K3 adds a gate of the output."""
    nope, rope, v, kv, q = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"], c["kv_lora_rank"], c.get("q_lora_rank")
    n = h * q + q + q * heads * (nope + rope) if q else h * heads * (nope + rope)
    n += h * (kv + rope) + kv + kv * heads * (nope + v) + heads * v * h
    return n + (h * heads * v if c.get("mla_use_output_gate") else 0)


def indexer_dsa(h, c):
    """Lightning indexer: queries from the query rank, one key of the hidden state with LayerNorm (weight, bias), a weight a head."""
    heads, dim = c["index_n_heads"], c["index_head_dim"]
    return c["q_lora_rank"] * heads * dim + h * dim + 2 * dim + h * heads


def delta_net(h, c):
    """Gated delta net: q, k, v, z; a and b; convolution without bias over q, k, v; A, dt, norm of a value head; output."""
    k, v = c["linear_num_key_heads"] * c["linear_key_head_dim"], c["linear_num_value_heads"] * c["linear_value_head_dim"]
    heads = c["linear_num_value_heads"]
    return h * (2 * k + 2 * v) + 2 * h * heads + (2 * k + v) * c["linear_conv_kernel_dim"] + 2 * heads + c["linear_value_head_dim"] + v * h


def kimi_delta(h, c):
    """Kimi delta attention: q, k, v with a convolution each; forget gate by rank; b; output gate by rank or whole; A, dt, norm; output."""
    heads, dim = c["num_heads"], c["head_dim"]
    p = heads * dim
    gate = h * p if c.get("use_full_rank_gate") else h * dim + dim * p
    return 3 * h * p + 3 * p * c["short_conv_kernel_size"] + h * dim + dim * p + h * heads + gate + heads + p + dim + p * h


def mamba2(h, inner, heads, groups, state, kernel, norm=True, conv_bias=True):
    """Mamba-2: z, x, B, C, dt in one projection; convolution over x, B, C; dt, A, D a head; gated norm; output."""
    conv = inner + 2 * groups * state
    return h * (inner + conv + heads) + conv * (kernel + conv_bias) + 3 * heads + (inner if norm else 0) + inner * h


def mamba1(h, inner, rank, state, kernel, inner_norms=False):
    """Mamba-1: x and z; convolution with bias; dt, B, C from x; dt by rank with bias; A, D; output; Jamba norms dt, B, C."""
    return h * 2 * inner + inner * (kernel + 1) + inner * (rank + 2 * state) + rank * inner + inner + inner * state + inner + inner * h \
        + (rank + 2 * state if inner_norms else 0)


def experts(count, c, h, width, number, chosen, shared, gate_bias=False, shared_gate=False, latent_size=0, latent_norm=False, matrices=3):
    """Router, routed experts (in a latent width where there is one), shared experts; of the routed ones a token uses `chosen`."""
    inner = latent_size or h
    one = matrices * inner * width
    count.add("router", h * number + (number if gate_bias else 0) + (h if shared_gate else 0))
    count.add("routed experts", number * one)
    count.add("shared experts", matrices * h * shared)
    if latent_size:
        count.add("latent", 2 * h * latent_size + (latent_size if latent_norm else 0))
    count.idle += (number - chosen) * one


def ends(count, c, norm=1, tied=None):
    """The final norm, as so many vectors, and both tables."""
    table = c["vocab_size"] * c["hidden_size"]
    count.add("norms", norm * c["hidden_size"])
    count.add("embedding", table)
    count.lookup += table
    if not (c["tie_word_embeddings"] if tied is None else tied):
        count.add("output", table)


def predict(count, h, part, beside=0):
    """Predicts a token more: a layer, a projection of 2h, three norms, and what is beside them."""
    count.mtp, count.mtp_idle = part.total() + 2 * h * h + 3 * h + beside, part.idle


def qwen(c, count):
    t = c.get("text_config", c)
    h, layers, tied = t["hidden_size"], t["num_hidden_layers"], t.get("tie_word_embeddings", c.get("tie_word_embeddings"))
    kinds = t.get("layer_types") or ["full_attention" if (i + 1) % t["full_attention_interval"] == 0 else "linear_attention" for i in range(layers)]
    full = attention(h, t["num_attention_heads"], t["num_key_value_heads"], t["head_dim"], gate=True, norms=True)
    streams = t.get("hc_count", 0)

    def block(part, kind):
        if kind == "full_attention":
            part.add("attention", full)
            if "indexer_n_heads" in t:  # keys and queries in one projection, a norm for each
                part.add("indexer", h * (t["indexer_n_heads"] + t["indexer_kv_heads"]) * t["indexer_head_dim"] + 2 * t["indexer_head_dim"])
        else:
            part.add("delta net", delta_net(h, t))
        if "num_experts" in t:
            experts(part, t, h, t["moe_intermediate_size"], t["num_experts"], t["num_experts_per_tok"], t["shared_expert_intermediate_size"], shared_gate=True)
        else:
            part.add("mlp", 3 * h * t["intermediate_size"])
        if streams:  # gated residual before the mixer and before the MLP; its norm stands for the layer's
            wide = streams * h
            part.add("streams", 2 * (wide + 2 * wide * t["hc_lowrank"] + wide * streams))
        else:
            part.add("norms", 2 * h)

    for kind in kinds:
        block(count, kind)
    if streams:
        wide = streams * h
        count.add("streams", wide + 2 * wide * t["hc_lowrank"])
        for layer in range(len(t["ple_layer_ids"])):
            rows, n, prime = 0, (t["ngram_size"] - 1) * t["heads_per_ngram"], t["ngram_vocab_size_base"] - 1
            for head in range(n * (layer + 1)):  # each head of each layer has a prime of its own
                prime += 1
                while any(prime % d == 0 for d in range(2, math.isqrt(prime) + 1)):
                    prime += 1
                rows += prime if head >= n * layer else 0
            every = t["make_ngram_vocab_size_divisible_by"]
            table = -(-rows // every) * every * (t["ple_embed_dim"] // n)
            count.add("n-gram table", table)
            count.lookup += table
            count.idle += table  # a token reads a row a head
            e = t["ple_embed_dim"]
            count.add("n-gram layer", e * wide + e * h + 3 * wide + wide * t["ple_conv_kernel_size"])
    ends(count, t, norm=0 if streams else 1, tied=tied)
    if t.get("mtp_num_hidden_layers") or c["model_type"] == "qwen3_next":  # one block, a projection of 2h, three norms
        part = Count()
        block(part, "full_attention")
        predict(count, h, part)


def kimi(c, count):
    t = c.get("text_config", c)
    h, lin = t["hidden_size"], t["linear_attn_config"]
    for i in range(1, t["num_hidden_layers"] + 1):
        if i in lin["kda_layers"]:
            count.add("delta attention", kimi_delta(h, lin))
        else:
            count.add("attention", latent(h, t["num_attention_heads"], t))
        if i <= t["first_k_dense_replace"]:
            count.add("mlp", 3 * h * t["intermediate_size"])
        else:
            experts(count, t, h, t["moe_intermediate_size"], t["num_experts"], t["num_experts_per_token"], t["num_shared_experts"] * t["moe_intermediate_size"],
                    gate_bias=True, latent_size=t.get("routed_expert_hidden_size", 0), latent_norm=t.get("latent_moe_use_norm"))
        count.add("norms", 2 * h)
        if "attn_res_block_size" in t:  # attention residuals: a norm and a query of one row before mixer and MLP
            count.add("residuals", 4 * h)
    if "attn_res_block_size" in t:
        count.add("residuals", 2 * h)
    ends(count, t)


def deepseek_dsa(c, count):
    h = c["hidden_size"]

    def block(part, dense):
        part.add("attention", latent(h, c["num_attention_heads"], c))
        part.add("indexer", indexer_dsa(h, c))
        if dense:
            part.add("mlp", 3 * h * c["intermediate_size"])
        else:
            experts(part, c, h, c["moe_intermediate_size"], c["n_routed_experts"], c["num_experts_per_tok"], c["n_shared_experts"] * c["moe_intermediate_size"], gate_bias=True)
        part.add("norms", 2 * h)

    for i in range(c["num_hidden_layers"]):
        block(count, i < c["first_k_dense_replace"])
    ends(count, c)
    part = Count()
    block(part, False)
    predict(count, h, part)


def deepseek_v4(c, count):
    h, heads, dim, streams = c["hidden_size"], c["num_attention_heads"], c["head_dim"], c["hc_mult"]

    def compressor(ratio, width):
        two = 2 if ratio == 4 else 1  # windows overlap at ratio 4: values and gates of two halves
        return 2 * h * two * width + ratio * two * width + width

    def block(part, ratio, hashed):
        q, groups, rank = c["q_lora_rank"], c["o_groups"], c["o_lora_rank"]
        part.add("attention", h * q + q + q * heads * dim + h * dim + dim + heads * dim // groups * groups * rank + groups * rank * h + heads)
        if ratio:
            part.add("compressor", compressor(ratio, dim))
        if ratio == 4:
            part.add("indexer", compressor(4, c["index_head_dim"]) + q * c["index_n_heads"] * c["index_head_dim"] + h * c["index_n_heads"])
        experts(part, c, h, c["moe_intermediate_size"], c["n_routed_experts"], c["num_experts_per_tok"], c["n_shared_experts"] * c["moe_intermediate_size"],
                gate_bias=not hashed)
        part.add("norms", 2 * h)
        mix = (2 + streams) * streams
        part.add("streams", 2 * (mix * streams * h + mix + 3))

    for i in range(c["num_hidden_layers"]):
        block(count, c["compress_ratios"][i], i < c["num_hash_layers"])
    head = streams * streams * h + streams + 1
    count.add("streams", head)
    ends(count, c)
    part = Count()
    block(part, c["compress_ratios"][c["num_hidden_layers"]], False)
    predict(count, h, part, head)


def nemotron_h(c, count):
    h = c["hidden_size"]
    letters = {"mamba": "M", "attention": "*", "mlp": "-", "moe": "E"}
    pattern = c.get("hybrid_override_pattern") or "".join(letters[k] for k in c["layers_block_type"])

    def block(part, kind):
        if kind == "M":
            part.add("mamba-2", mamba2(h, c["mamba_num_heads"] * c["mamba_head_dim"], c["mamba_num_heads"], c["n_groups"], c["ssm_state_size"], c["conv_kernel"]))
        elif kind == "*":
            part.add("attention", attention(h, c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]))
        elif kind == "-":
            part.add("mlp", 2 * h * c["intermediate_size"])
        else:
            experts(part, c, h, c["moe_intermediate_size"], c["n_routed_experts"], c["num_experts_per_tok"],
                    c["n_shared_experts"] * c["moe_shared_expert_intermediate_size"], gate_bias=True, latent_size=c.get("moe_latent_size") or 0, matrices=2)
        part.add("norms", h)

    for kind in pattern:
        block(count, kind)
    ends(count, c)
    ahead = c.get("mtp_hybrid_override_pattern") or "".join(letters[k] for k in c.get("mtp_layers_block_type", []))
    if ahead:
        part = Count()
        for kind in ahead:
            block(part, kind)
        predict(count, h, part)


def minimax_01(c, count):
    h, heads, dim = c["hidden_size"], c["num_attention_heads"], c["head_dim"]
    for kind in c["attn_type_list"]:
        if kind:
            count.add("attention", attention(h, heads, c["num_key_value_heads"], dim))
        else:  # lightning: q, k, v of all heads, a gate of the output, a norm over all heads, output
            count.add("lightning", h * 4 * heads * dim + heads * dim + heads * dim * h)
        experts(count, c, h, c["intermediate_size"], c["num_local_experts"], c["num_experts_per_tok"], c["shared_intermediate_size"])
        count.add("norms", 2 * h)
    ends(count, c)


def minimax_m3(c, count):
    h, s = c["hidden_size"], c["sparse_attention_config"]

    def block(part, sparse, moe):
        part.add("attention", attention(h, c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"], norms=True))
        if sparse:
            part.add("indexer", h * (s["sparse_num_index_heads"] + 1) * s["sparse_index_dim"] + 2 * s["sparse_index_dim"])
        if moe:
            experts(part, c, h, c["moe_intermediate_size"], c["num_local_experts"], c["num_experts_per_tok"], c["shared_intermediate_size"], gate_bias=True)
        else:
            part.add("mlp", 3 * h * c["dense_intermediate_size"])
        part.add("norms", 2 * h)

    for sparse, moe in zip(s["sparse_attention_freq"], c["moe_layer_freq"]):
        block(count, sparse, moe)
    ends(count, c)
    part = Count()
    block(part, 1, 1)
    predict(count, h, part)


def jamba(c, count):
    h = c["hidden_size"]
    for i in range(c["num_hidden_layers"]):
        if i % c["attn_layer_period"] == c["attn_layer_offset"]:
            count.add("attention", attention(h, c["num_attention_heads"], c["num_key_value_heads"], h // c["num_attention_heads"]))
        else:
            count.add("mamba", mamba1(h, c["mamba_expand"] * h, c["mamba_dt_rank"], c["mamba_d_state"], c["mamba_d_conv"], inner_norms=True))
        if i % c["expert_layer_period"] == c["expert_layer_offset"]:
            experts(count, c, h, c["intermediate_size"], c["num_experts"], c["num_experts_per_tok"], 0)
        else:
            count.add("mlp", 3 * h * c["intermediate_size"])
        count.add("norms", 2 * h)
    ends(count, c)


def falcon_h1(c, count):
    h = c["hidden_size"]
    for _ in range(c["num_hidden_layers"]):
        count.add("attention", attention(h, c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]))
        count.add("mamba-2", mamba2(h, c["mamba_d_ssm"], c["mamba_n_heads"], c["mamba_n_groups"], c["mamba_d_state"], c["mamba_d_conv"], norm=c["mamba_rms_norm"]))
        count.add("mlp", 3 * h * c["intermediate_size"])
        count.add("norms", 2 * h)
    ends(count, c)


def granite_h(c, count):
    h = c["hidden_size"]
    for kind in c["layer_types"]:
        if kind == "attention":
            count.add("attention", attention(h, c["num_attention_heads"], c["num_key_value_heads"], h // c["num_attention_heads"]))
        else:
            count.add("mamba-2", mamba2(h, c["mamba_expand"] * h, c["mamba_n_heads"], c["mamba_n_groups"], c["mamba_d_state"], c["mamba_d_conv"]))
        if c["num_local_experts"]:
            experts(count, c, h, c["intermediate_size"], c["num_local_experts"], c["num_experts_per_tok"], c["shared_intermediate_size"])
        else:
            count.add("mlp", 3 * h * c["shared_intermediate_size"])
        count.add("norms", 2 * h)
    ends(count, c)


def zamba2(c, count):
    h, wide, f, rank = c["hidden_size"], c["attention_hidden_size"], c["intermediate_size"], c["adapter_rank"]
    for kind in c["layers_block_type"]:
        count.add("mamba-2", mamba2(h, c["mamba_expand"] * h, c["n_mamba_heads"], c["mamba_ngroups"], c["mamba_d_state"], c["mamba_d_conv"]))
        count.add("norms", h)
        if kind == "hybrid":  # what each use of a shared block has for itself
            count.add("links", h * h)
            count.add("adapters", h * rank + rank * 2 * f + (3 * (wide * rank + rank * wide) if c["use_shared_attention_adapter"] else 0))
    inner = c["num_attention_heads"] * c["attention_head_dim"]
    count.add("shared blocks", c["num_mem_blocks"] * (3 * wide * inner + inner * h + 3 * h * f + wide + h))
    ends(count, c)


def bamba(c, count):
    h = c["hidden_size"]
    for i in range(c["num_hidden_layers"]):
        if i in c["attn_layer_indices"]:
            count.add("attention", attention(h, c["num_attention_heads"], c["num_key_value_heads"], h // c["num_attention_heads"]))
        else:
            count.add("mamba-2", mamba2(h, c["mamba_expand"] * h, c["mamba_n_heads"], c["mamba_n_groups"], c["mamba_d_state"], c["mamba_d_conv"]))
        count.add("mlp", 3 * h * c["intermediate_size"])
        count.add("norms", 2 * h)
    ends(count, c)


def ring_linear(c, count):
    h, heads, dim, n, group = c["hidden_size"], c["num_attention_heads"], c["head_dim"], c["num_hidden_layers"], c["layer_group_size"]
    for i in range(n):
        if (i + 1) % group == 0 or i >= n // group * group:
            count.add("attention", attention(h, heads, c["num_key_value_heads"], dim, norms=True))
        else:  # all heads have keys; norms of a head; gate and grouped norm of the output
            count.add("linear attention", h * 4 * heads * dim + 2 * dim + heads * dim + heads * dim * h)
        if i < c["first_k_dense_replace"]:
            count.add("mlp", 3 * h * c["intermediate_size"])
        else:
            experts(count, c, h, c["moe_intermediate_size"], c["num_experts"], c["num_experts_per_tok"], c["num_shared_experts"] * c["moe_intermediate_size"], gate_bias=True)
        count.add("norms", 2 * h)
    ends(count, c)


def lfm2(c, count):
    h = c["hidden_size"]
    dim = h // c["num_attention_heads"]
    width = c.get("block_ff_dim", c.get("intermediate_size"))
    if c.get("block_auto_adjust_ff_dim"):
        every = c["block_multiple_of"]
        width = -(-int(c["block_ffn_dim_multiplier"] * int(2 * width / 3)) // every) * every
    for i, kind in enumerate(c["layer_types"]):
        if kind == "conv":  # B, C, x in one projection; a depthwise convolution; output
            count.add("convolution", h * 3 * h + h * c["conv_L_cache"] + h * h)
        else:
            count.add("attention", attention(h, c["num_attention_heads"], c["num_key_value_heads"], dim, norms=True))
        if "num_experts" in c and i >= c["num_dense_layers"]:
            experts(count, c, h, c["moe_intermediate_size"], c["num_experts"], c["num_experts_per_tok"], 0)  # its bias is a buffer
        else:
            count.add("mlp", 3 * h * width)
        count.add("norms", 2 * h)
    ends(count, c, tied=c["tie_embedding"])


def rwkv7(c, count):
    h, n = c["hidden_size"], c["num_hidden_layers"]
    w, a, v, g = (c[k + "_low_rank_dim"] for k in ("decay", "a", "v", "gate"))
    for i in range(n):
        count.add("time mix", 4 * h * h)  # r, k, v, output
        count.add("time mix", 2 * h * (w + a + g) + 2 * h)  # decay and a have biases, the gate has none
        count.add("time mix", 2 * h * v + h if i else 0)  # the first layer gives the value that later ones mix in
        count.add("time mix", 6 * h + 3 * h + 2 * h)  # token shifts; k_k, k_a, r_k; group norm
        count.add("channel mix", 2 * h * c["intermediate_size"] + h)
        count.add("norms", 4 * h)  # weights and biases
    ends(count, c, norm=4)  # before the first layer and after the last, weights and biases


def mamba(c, count):
    h, inner = c["hidden_size"], c["intermediate_size"]
    for _ in range(c["num_hidden_layers"]):
        if c["model_type"] == "mamba2":
            count.add("mamba-2", mamba2(h, inner, c["num_heads"], c["n_groups"], c["state_size"], c["conv_kernel"]))
        else:
            count.add("mamba", mamba1(h, inner, c["time_step_rank"], c["state_size"], c["conv_kernel"]))
        count.add("norms", h)
    ends(count, c)


FAMILIES = {
    "qwen3_next": qwen, "qwen3_5": qwen, "qwen3_5_moe": qwen, "qwen4_exp": qwen, "kimi_linear": kimi, "kimi_k3": kimi, "deepseek_v32": deepseek_dsa,
    "glm_moe_dsa": deepseek_dsa, "deepseek_v4": deepseek_v4, "nemotron_h": nemotron_h, "minimax_text_01": minimax_01, "minimax_m3": minimax_m3, "jamba": jamba,
    "falcon_h1": falcon_h1, "granitemoehybrid": granite_h, "zamba2": zamba2, "bamba": bamba, "bailing_moe_linear": ring_linear, "lfm2": lfm2, "lfm2_moe": lfm2,
    "rwkv7": rwkv7, "mamba": mamba, "mamba2": mamba, "falcon_mamba": mamba,
}


def path_of(name):
    return next(path for path in (os.path.join(folder, name + ".json") for folder in CONFIGS) if os.path.exists(path))


def count_model(name):
    with open(path_of(name)) as f:
        config = json.load(f)
    count = Count()
    FAMILIES[config["model_type"]](config, count)
    return count


def check():
    """Every file is counted, every count stands in the page, and a published count of more than five digits is met exactly."""
    with open(os.path.join(HERE, "hybrid-models.md")) as f:
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in f if line.startswith("| ")]
    wrong = [name for name in sorted(os.listdir(CONFIGS[0])) if name[:-5] not in PUBLISHED]
    for name, (total, _) in PUBLISHED.items():
        n = count_model(name).total()
        digits = len(("%.10g" % total).replace(".", "").lstrip("0"))
        if not any(row[0] == name and f"{n:,}" in row for row in rows) or (digits > 5 and n != round(total * 1e9)):
            wrong.append(name)
    print("wrong: " + ", ".join(wrong) if wrong else f"{len(PUBLISHED)} counts as in hybrid-models.md")
    return 1 if wrong else 0


def main(words):
    if "--check" in words:
        return check()
    verbose = "-v" in words
    names = [w for w in words if w != "-v"] or list(PUBLISHED)
    print("| model | parameters | active | without the input table | without both tables | MTP | MTP active | published total, active (billions) |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        n = count_model(name)
        idle_tables = n.parts.get("n-gram table", 0)
        pub = ", ".join("%.10g" % v for v in PUBLISHED.get(name, ()) if v)
        inner = n.active() - (n.lookup - idle_tables)
        print("| %s | %s | %s | %s | %s | %s | %s | %s |" % (name, f"{n.total():,}", f"{n.active():,}", f"{inner:,}",
              f"{inner - n.parts.get('output', 0):,}", f"{n.mtp:,}" if n.mtp else "", f"{n.mtp - n.mtp_idle:,}" if n.mtp else "", pub))
        if verbose:
            for part, value in n.parts.items():
                print(f"    {part:20s} {value:>20,}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: Apache-2.0
"""Layers as torchtitan and Hugging Face's Trainer run them, in PyTorch alone, with embedding and loss; what step.py trains.

Linear layers of Q, K, V and of both halves of the MLP are apart, norms are one operator (Hugging Face's eager ones are several), the residual
stream is of 16 bit. Where parameters are of fp32, each operator computes with a 16-bit copy of them, as under FSDP's mixed precision, and the
gradients are fp32."""
import collections

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

COMPUTE = torch.bfloat16
QKV_BIAS, QK_NORM = ("qwen2",), ("qwen3", "qwen3_moe")  # families


def parameter(like, *shape):
    return nn.Parameter(torch.randn(*shape, **like) * 0.02)


class Linear(nn.Module):
    def __init__(self, like, into, out, bias=False):
        super().__init__()
        self.weight = parameter(like, out, into)
        self.bias = parameter(like, out) if bias else None

    def forward(self, x):
        return F.linear(x, self.weight.to(x.dtype), None if self.bias is None else self.bias.to(x.dtype))


class Norm(nn.Module):
    def __init__(self, like, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, **like))

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight.to(x.dtype), 1e-5)


# ---- rotary embedding of [batch, sequence, heads, channels] ----

def angles_of(length, channels, device):
    frequencies = 10000.0 ** (-torch.arange(0, channels, 2, device=device).float() / channels)
    return torch.outer(torch.arange(length, device=device).float(), frequencies)


class ComplexRotation(nn.Module):
    """torchtitan's: a product of complex numbers in fp32."""

    def __init__(self, length, channels, device):
        super().__init__()
        angles = angles_of(length, channels, device)
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles)[None, :, None])

    def forward(self, x):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.turns).flatten(3).type_as(x)


class HalvesRotation(nn.Module):
    """Hugging Face's: both halves of a head, in 16 bit."""

    def __init__(self, length, channels, device):
        super().__init__()
        angles = torch.cat((angles_of(length, channels, device),) * 2, -1)[None, :, None]
        self.register_buffer("cos", angles.cos().to(COMPUTE))
        self.register_buffer("sin", angles.sin().to(COMPUTE))

    def forward(self, x):
        half = x.shape[-1] // 2
        return x * self.cos + torch.cat((-x[..., half:], x[..., :half]), -1) * self.sin


# ---- a layer ----

class Attention(nn.Module):
    """`repeats`: keys and values are copied to all heads, else the kernel reads those of their group."""

    def __init__(self, like, shape, rotation, repeats):
        super().__init__()
        self.shape, self.rotation, self.repeats = shape, rotation, repeats
        bias, query, key = shape.family in QKV_BIAS, shape.heads * shape.head, shape.groups * shape.head
        self.q, self.k, self.v = (Linear(like, shape.hidden, n, bias) for n in (query, key, key))
        self.out = Linear(like, query, shape.hidden)
        self.norms = nn.ModuleList(Norm(like, shape.head) for _ in range(2 if shape.family in QK_NORM else 0))

    def forward(self, x):
        batch, length, _ = x.shape
        heads, groups, head = self.shape.heads, self.shape.groups, self.shape.head
        q, k, v = (of(x).view(batch, length, -1, head) for of in (self.q, self.k, self.v))
        if len(self.norms):
            q, k = self.norms[0](q), self.norms[1](k)
        q, k = self.rotation(q), self.rotation(k)
        if self.repeats:
            k, v = (t[:, :, :, None].expand(batch, length, groups, heads // groups, head).reshape(batch, length, heads, head) for t in (k, v))
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=not self.repeats and groups < heads)
        return self.out(out.transpose(1, 2).reshape(batch, length, heads * head))


class MLP(nn.Module):
    def __init__(self, like, shape):
        super().__init__()
        self.gate, self.up = (Linear(like, shape.hidden, shape.ffn) for _ in range(2))
        self.down = Linear(like, shape.ffn, shape.hidden)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    """A router, and experts whose products are grouped GEMMs. The router does its work, but tokens go to the experts by turns, so that all get
    as many, which is the load that predictions assume."""

    def __init__(self, like, shape):
        super().__init__()
        self.shape, count, ffn, hidden = shape, shape.experts, shape.expert_ffn, shape.hidden
        self.router = Linear(like, hidden, count)
        self.gate, self.up = (parameter(like, count, ffn, hidden) for _ in range(2))
        self.down = parameter(like, count, hidden, ffn)

    def forward(self, x):
        count, top = self.shape.experts, self.shape.top_k
        tokens = x.reshape(-1, x.shape[-1])
        shares, _ = torch.topk(F.softmax(self.router(tokens).float(), -1), top)
        shares = shares / shares.sum(-1, keepdim=True)
        chosen = torch.arange(tokens.shape[0] * top, device=x.device) % count
        ends = torch.cumsum(torch.histc(chosen.float(), count, 0, count), 0).to(torch.int32)
        order = torch.argsort(chosen, stable=True)
        places = (order // top)[:, None].expand(-1, x.shape[-1])

        def product(rows, weights):
            return torch._grouped_mm(rows, weights.to(rows.dtype).transpose(-2, -1), offs=ends)

        rows = torch.gather(tokens, 0, places)
        out = product(F.silu(product(rows, self.gate)) * product(rows, self.up), self.down)
        out = (out.float() * shares.reshape(-1)[order][:, None]).to(x.dtype)
        return torch.zeros_like(tokens).scatter_add(0, places, out).view_as(x)


class Layer(nn.Module):
    def __init__(self, like, shape, rotation, repeats):
        super().__init__()
        self.attention_norm, self.mlp_norm = (Norm(like, shape.hidden) for _ in range(2))
        self.attention = Attention(like, shape, rotation, repeats)
        self.mlp = (Experts if shape.experts else MLP)(like, shape)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


# ---- recompute ----

def by_operator():
    """As torchtitan: the outputs of attention and of every second product stay, counted from the first."""
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

    aten, seen = torch.ops.aten, collections.Counter()
    attention = [getattr(aten, "_scaled_dot_product_%s_attention" % name).default for name in ("flash", "cudnn")]

    def policy(context, operator, *args, **words):
        if operator == aten.mm.default:
            seen[context.is_recompute] += 1
            stays = seen[context.is_recompute] % 2
        else:
            stays = operator in attention
        return CheckpointPolicy.MUST_SAVE if stays else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


class Recomputed(nn.Module):
    def __init__(self, layer, recompute):
        super().__init__()
        self.layer, self.words = layer, {"context_fn": by_operator} if recompute == "op-selective" else {}

    def forward(self, x):
        return checkpoint(self.layer, x, use_reentrant=False, preserve_rng_state=False, **self.words)


class Stack(nn.Module):
    """Layers of `shape` with embedding and loss: torchtitan's with fp32 parameters, or the Trainer's with those of 16 bit. `compiled`: each
    layer by torch.compile, and nothing else."""

    def __init__(self, shape, layers, length, torchtitan, recompute="none", compiled=False, device="cuda"):
        super().__init__()
        like = {"device": device, "dtype": torch.float32 if torchtitan else COMPUTE}
        rotation = (ComplexRotation if torchtitan else HalvesRotation)(length, shape.head, device)
        stack = [Layer(like, shape, rotation, repeats=torchtitan) for _ in range(layers)]
        if recompute != "none":
            stack = [Recomputed(layer, recompute) for layer in stack]
        self.layers = nn.ModuleList(torch.compile(layer) if compiled else layer for layer in stack)
        self.embedding = parameter(like, shape.vocab, shape.hidden)
        self.norm, self.output = Norm(like, shape.hidden), Linear(like, shape.hidden, shape.vocab)

    def forward(self, tokens, targets):
        x = F.embedding(tokens, self.embedding).to(COMPUTE)
        for layer in self.layers:
            x = layer(x)
        logits = self.output(self.norm(x))
        return F.cross_entropy(logits.float().view(-1, logits.shape[-1]), targets.view(-1))

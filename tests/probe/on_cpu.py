#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: on_cpu.py (by hand, where PyTorch is; Debian's 1.13 is enough)

Trains what validation/probe/step.py trains, each model at a small width, on the CPU: losses are finite and fall, gradients reach every
parameter, and recompute changes no loss. Operators that an old PyTorch lacks are made of others here; recompute by operator is left out there.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "validation", "probe"))
import torch
from torch.nn import functional as F

import layers
import models
import step

STEPS = 12


def rms_norm(x, shape, weight, eps):
    return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype) * weight


def attention(q, k, v, is_causal, enable_gqa):
    assert is_causal and enable_gqa == (k.shape[1] < q.shape[1])
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = (q @ k.transpose(-2, -1)).float() / q.shape[-1] ** 0.5
    masked = scores.masked_fill(torch.ones(q.shape[2], k.shape[2]).triu(1).bool(), float("-inf"))
    return masked.softmax(-1).to(v.dtype) @ v


def grouped_mm(rows, weights, offs):
    ends = [0] + offs.tolist()
    return torch.cat([rows[a:b] @ w for a, b, w in zip(ends, ends[1:], weights)])


def small(name):
    """A model of that family with few channels."""
    m = models.load(os.path.join(step.measure.HERE, "..", "..", "workloads", "models", name + ".json"))
    return m._replace(hidden=64, heads=8, groups=2, head=16, value=16, ffn=96, vocab=256, expert_ffn=48, experts=min(m.experts, 8),
                      top_k=min(m.top_k, 2))


def losses(config, shape):
    torch.manual_seed(0)
    run = step.stepper(torch, layers, config, shape, "cpu")
    return [float(run()) for _ in range(STEPS)]


def check(config):
    shape = step.shard(small(config.model), config.tp)
    got = losses(config, shape)
    print("%-70s %s" % (step.id_of(config), " ".join("%.4f" % x for x in (got[0], got[-1]))))
    assert all(x == x and x < 10 for x in got) and got[-1] < got[0], got
    return got


def check_gradients(config):
    shape = small(config.model)
    stack = layers.Stack(shape, 2, 32, config.stack == "torchtitan", device="cpu")
    tokens = torch.randint(shape.vocab, (2, 32))
    stack(tokens, tokens).backward()
    for name, p in stack.named_parameters():
        assert p.grad is not None and torch.isfinite(p.grad.float()).all() and p.grad.abs().sum() > 0, name
        assert p.grad.dtype == p.dtype == (torch.float32 if config.stack == "torchtitan" else torch.bfloat16), name


def main():
    for module, name, made in ((F, "rms_norm", rms_norm), (F, "scaled_dot_product_attention", attention), (torch, "_grouped_mm", grouped_mm)):
        if not hasattr(module, name):
            setattr(module, name, made)
    selective = hasattr(torch.utils.checkpoint, "create_selective_checkpoint_contexts")
    if not selective:
        print("PyTorch %s has no recompute by operator: left out" % torch.__version__)
    seen = set()
    for config in step.plan():
        kind = (config.stack, config.model, config.tp > 1)
        if kind in seen:
            continue
        seen.add(kind)
        plain = config._replace(layers=2, length=32, batch=2, mode="eager", recompute="none")
        check_gradients(plain)
        want = check(plain)
        for recompute in ("full", "op-selective") if selective and config.stack == "torchtitan" else ("full",):
            assert check(plain._replace(recompute=recompute)) == want, "recompute changes the loss"
    print("on CPU: passed")


if __name__ == "__main__":
    main()

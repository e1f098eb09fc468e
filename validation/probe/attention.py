#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the flash and the cuDNN attention of PyTorch on one GPU, at the heads of the models in
workloads/models, and adds the rows to a table like validation/microbench.csv: causal, bf16, forward and
backward, TFLOP/s of the causal half of the square (backward 2.5 times the forward's)."""
import contextlib
import sys

import measure
import models

TOKENS = (2048, 4096, 8192, 16384)
BATCHES = (1, 2, 4, 8)
MOST_TOKENS = 32768  # of a call with several sequences
BATCHED = 24  # shapes that are measured with several, for more sequences are as more heads
BACKENDS = (("FA2", "FLASH_ATTENTION"), ("cuDNN", "CUDNN_ATTENTION"))


def shapes(folder):
    """Heads, groups and channels of a query and of a value on one rank of every model at tp 1 to 8."""
    return sorted({(m.heads // tp, max(1, m.groups // tp), m.head, m.value)
                   for m in models.load_all(folder) for tp in (1, 2, 4, 8) if m.heads % tp == 0})


def opener(backend, batch, tokens, heads, groups, head, value):
    @contextlib.contextmanager
    def runs(torch):
        attention = torch.nn.functional.scaled_dot_product_attention

        def tensor(n, channels):
            return torch.randn(batch, n, tokens, channels, device="cuda", dtype=torch.bfloat16, requires_grad=True)

        q, k, v = tensor(heads, head), tensor(groups, head), tensor(groups, value)
        with torch.nn.attention.sdpa_kernel(getattr(torch.nn.attention.SDPBackend, backend)):
            out = attention(q, k, v, is_causal=True, enable_gqa=groups < heads)
            gradient = torch.randn_like(out)

            def forward():
                with torch.no_grad():
                    attention(q, k, v, is_causal=True, enable_gqa=groups < heads)

            def backward():
                torch.autograd.grad(out, (q, k, v), gradient, retain_graph=True)

            yield forward, backward

    return runs


def item(name, backend, batch, tokens, heads, groups, head, value):
    channels = "d=%d" % head if head == value else "dqk=%d dv=%d" % (head, value)
    shape = "b=%d seq=%d hq=%d hkv=%d %s causal" % (batch, tokens, heads, groups, channels)
    flop = 1.0 * batch * tokens * tokens * heads * (head + value)
    return measure.Item(
        name, [measure.Row("attention", "%s %s %s" % (name, way, shape), "bf16", "TFLOP/s", times * flop)
               for way, times in (("fwd", 1), ("bwd", 2.5))],
        opener(backend, batch, tokens, heads, groups, head, value))


def items(folder):
    """Those with several sequences first, both libraries by turns, so that a run that is cut short has some of each."""
    found = shapes(folder)
    for at, shape in enumerate(models.spread(found, len(found))):
        for batch in BATCHES if at < BATCHED else BATCHES[:1]:
            for tokens in TOKENS:
                if batch == 1 or batch * tokens <= MOST_TOKENS:
                    yield from (item(name, backend, batch, tokens, *shape) for name, backend in BACKENDS)


def is_there(torch):
    return hasattr(getattr(torch.nn, "attention", None), "sdpa_kernel")


if __name__ == "__main__":
    sys.exit(measure.main(__doc__, items, "2.5", is_there))

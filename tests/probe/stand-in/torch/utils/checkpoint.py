# SPDX-License-Identifier: Apache-2.0
import types

CheckpointPolicy = types.SimpleNamespace(MUST_SAVE=1, PREFER_RECOMPUTE=2)


def create_selective_checkpoint_contexts(policy):
    """Of ten products and an attention in each pass five and one stay."""
    from .. import ops
    for is_recompute in (False, True):
        context = types.SimpleNamespace(is_recompute=is_recompute)
        kept = [policy(context, op) for op in [ops.aten.mm.default] * 10 + [ops.aten._scaled_dot_product_flash_attention.default]]
        assert kept.count(1) == 6, kept


def checkpoint(run, *inputs, use_reentrant, preserve_rng_state, context_fn=None):
    assert not use_reentrant and not preserve_rng_state
    if context_fn:
        context_fn()
    return run(*inputs)

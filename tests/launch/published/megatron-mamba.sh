#!/bin/bash
# Made for the tests after NVIDIA/Megatron-LM@d98e8a64ddf34856e74b24714e3bedb2f5a39553:examples/mamba/train.sh:
# its order and its values, none of its text.
hybrid="--tensor-model-parallel-size 1 --pipeline-model-parallel-size 1 --use-distributed-optimizer \
    --hybrid-layer-pattern M-M-M--M-*M-M-M-M--*M-M-M-M-*M--M-M-M-*M-M--M-M- --hidden-size 1024 \
    --num-attention-heads 16 --group-query-attention --num-query-groups 8 --seq-length 4096 \
    --max-position-embeddings 4096 --micro-batch-size 4 --global-batch-size 32 --bf16 \
    --spec megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec"
torchrun --nproc_per_node 8 pretrain_hybrid.py ${hybrid}

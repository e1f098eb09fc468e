#!/bin/bash
# Made for the tests after NVIDIA/Megatron-LM@d98e8a64ddf34856e74b24714e3bedb2f5a39553:examples/t5/train_t5_220m_distributed.sh:
# its order and its values, none of its text.
t5="
    --encoder-num-layers 12 \
    --decoder-num-layers 12 \
    --hidden-size 768 --num-attention-heads 12 --kv-channels 64 --ffn-hidden-size 3072 \
    --encoder-seq-length 512 --decoder-seq-length 128 --max-position-embeddings 512 \
    --micro-batch-size 64 --global-batch-size 512 --bf16 \
    --tensor-model-parallel-size 1 --pipeline-model-parallel-size 1
"
torchrun --nproc_per_node 8 --nnodes 1 examples/t5/pretrain_t5.py $t5

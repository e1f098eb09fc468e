#!/bin/bash
# Made for the tests after NVIDIA/Megatron-LM@d98e8a64ddf34856e74b24714e3bedb2f5a39553:examples/bert/train_bert_340m_distributed.sh:
# its order and its values, none of its text.
gpus=8 nodes=1
bert=(--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 --max-position-embeddings 512)
torchrun --nproc_per_node $gpus --nnodes $nodes pretrain_bert.py ${bert[@]} --micro-batch-size 4 \
    --global-batch-size 32 --train-iters 1000000 --clip-grad 1.0 --fp16 --tensor-model-parallel-size 8 \
    --pipeline-model-parallel-size 16 --data-path $4 --vocab-file $3

#!/bin/bash
# Made for the tests after NVIDIA/Megatron-LM@d98e8a64ddf34856e74b24714e3bedb2f5a39553:examples/gpt3/train_gpt3_175b_distributed.sh:
# its order and its values, none of its text.
export CUDA_DEVICE_MAX_CONNECTIONS=1
gpus=8 nodes=1
out=$1 logs=$2 vocab=$3 merges=$4 data=$5

where=(--nproc_per_node $gpus --nnodes $nodes --master_addr localhost --master_port 29500)
shape=(
    --num-layers 96 --hidden-size 12288 --num-attention-heads 96
    --seq-length 2048 --max-position-embeddings 2048
    --attention-backend auto # or another one
)
training=(
    --micro-batch-size 1
    --global-batch-size 1536
    --step-batch-size-schedule "0:16 2.4B:320 4.8B:624 7.2B:928 9.6B:1232 12B:1536"
    --train-iters 500000 --weight-decay 0.1 --adam-beta1 0.9 --adam-beta2 0.95 --init-method-std 0.006
    --clip-grad 1.0 --fp16 --lr 6.0e-5 --lr-decay-style cosine --min-lr 6.0e-6
    --lr-warmup-fraction .001 --lr-decay-iters 430000
)
layout=(--tensor-model-parallel-size 8 --pipeline-model-parallel-size 16)
files=(--data-path $data --vocab-file $vocab --merge-file $merges --split 949,50,1)
logging=(
    --log-interval 100 --save-interval 10000 --eval-interval 1000 --eval-iters 10
    --save $out --load $out --tensorboard-dir $logs
)
torchrun ${where[@]} pretrain_gpt.py ${shape[@]} ${training[@]} ${layout[@]} ${files[@]} ${logging[@]}

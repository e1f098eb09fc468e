#!/bin/bash
# Made for the tests after alibaba/Pai-Megatron-Patch@a098ca5acbdeaf7172ce0393fa309b39a77506db:examples/qwen2_5/run_mcore_qwen.sh:
# its order and its values, none of its text.
set -e
nodes=${WORLD_SIZE} gpus=${KUBERNETES_CONTAINER_RESOURCE_GPU:-8}
size=$1 TP=$2 PP=$3
if [ $size = 7B ]; then
    layers=28 hidden=3584 heads=28 wide=18944 groups=4 extra=421
    tie="--untie-embeddings-and-output-weights"
elif [ $size = 0.5B ]; then
    layers=24 hidden=896 heads=14 wide=4864 groups=2 extra=293 tie=""
fi
grouped=" \
    --group-query-attention \
    --num-query-groups ${groups}"
flags=" \
    --micro-batch-size 1 --global-batch-size 64 --num-layers ${layers} --hidden-size ${hidden} \
    --num-attention-heads ${heads} --ffn-hidden-size ${wide} --seq-length 4096 --max-position-embeddings 131072 \
    --max-padding-length 4096 --attention-dropout 0.0 --hidden-dropout 0.0 --clip-grad 1.0 \
    --tensor-model-parallel-size ${TP} --pipeline-model-parallel-size ${PP} --context-parallel-size 1 \
    --extra-vocab-size ${extra} --patch-tokenizer-type Qwen2Tokenizer --swiglu --normalization RMSNorm \
    --norm-epsilon 1e-6 --use-rotary-position-embeddings --position-embedding-type rope --disable-bias-linear \
    --add-qkv-bias --rotary-base 1000000 --transformer-impl transformer_engine --bf16 \
    --use-distributed-optimizer --sequence-parallel --attention-backend flash --tp-comm-overlap \
    --overlap-grad-reduce --overlap-param-gather"
run="torchrun --nproc_per_node $gpus --nnodes $nodes ../qwen2/pretrain_qwen.py ${flags} ${grouped} ${tie} --dataset MMAP"
eval ${run}

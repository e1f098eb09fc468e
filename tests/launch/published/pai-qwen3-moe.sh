#!/bin/bash
# Made for the tests after alibaba/Pai-Megatron-Patch@a098ca5acbdeaf7172ce0393fa309b39a77506db:examples/qwen3/run_mcore_qwen3.sh:
# its order and its values, none of its text.
set -e
nodes=${WORLD_SIZE} gpus=${KUBERNETES_CONTAINER_RESOURCE_GPU}
TP=$1 PP=$2 ETP=$3 EP=$4 offload=$5
experts=" \
    --moe-grouped-gemm --moe-token-dispatcher-type alltoall --moe-router-topk 8 --num-experts 128 \
    --expert-tensor-parallel-size ${ETP} --expert-model-parallel-size ${EP} --moe-ffn-hidden-size 768 \
    --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 0.001 \
    --moe-layer-freq '([1]*48)' \
    "
if [ $offload != false ]; then
    host=" --optimizer-cpu-offload \
        --use-precision-aware-optimizer --optimizer-offload-fraction ${offload}"
fi
if [ ! -z ${MP_PP0_LAYERS} ]; then
    first=" --decoder-first-pipeline-num-layers ${MP_PP0_LAYERS}"
fi
flags="  \
    --save out --lr 1e-5 --clip-grad 1.0 --attention-dropout 0.0 --hidden-dropout 0.0 --micro-batch-size 1 \
    --global-batch-size 64 --num-layers 48 --hidden-size 2048 --num-attention-heads 32 --ffn-hidden-size 6144 \
    --seq-length 4096 --max-position-embeddings 40960 --max-padding-length 4096 --tensor-model-parallel-size ${TP} \
    --pipeline-model-parallel-size ${PP} --context-parallel-size 1 --padded-vocab-size 151936 \
    --patch-tokenizer-type Qwen3Tokenizer --swiglu --normalization RMSNorm --norm-epsilon 1e-6 \
    --use-rotary-position-embeddings --position-embedding-type rope --disable-bias-linear --rotary-base 1000000 \
    --ckpt-format torch_dist --transformer-impl transformer_engine --cross-entropy-loss-fusion --qk-layernorm \
    --kv-channels 128 --bf16 --recompute-activations --use-distributed-optimizer --sequence-parallel

    "
run="torchrun --nproc_per_node $gpus --nnodes $nodes pretrain_qwen.py
 ${flags} --data-path data --dataset MMAP ${experts} ${host} --train-mode pretrain ${first} --attention-backend flash \
 --untie-embeddings-and-output-weights --group-query-attention --num-query-groups 4"
eval ${run}

#!/bin/bash
# Made for the tests after alibaba/Pai-Megatron-Patch@a098ca5acbdeaf7172ce0393fa309b39a77506db:examples/deepseek_v3/run_mcore_deepseek.sh:
# its order and its values, none of its text.
set -e
nodes=${WORLD_SIZE} gpus=${KUBERNETES_CONTAINER_RESOURCE_GPU:-8}
TP=$1 PP=$2 EP=$3 FL=$4
if [ $FL = true ]; then
    echo "latent attention has no flash attention"
    exit -1
fi
width=2048
shared=1
experts=" \
    --moe-grouped-gemm --moe-token-dispatcher-type alltoall --moe-router-topk 8 --moe-router-group-topk 4 \
    --moe-router-num-groups 8 --moe-router-dtype fp32 --moe-permute-fusion --num-experts 256 \
    --expert-model-parallel-size ${EP} --expert-tensor-parallel-size 1 --moe-ffn-hidden-size ${width} \
    --moe-router-load-balancing-type seq_aux_loss --moe-router-topk-scaling-factor 2.5 --moe-shared-expert-overlap \
    --moe-router-pre-softmax --moe-router-enable-expert-bias --mscale 1.0 --moe-router-score-function sigmoid \
    --moe-layer-freq '([0]*3+[1]*58)' \
    --moe-shared-expert-intermediate-size $((${width} * ${shared} )) \
    --q-lora-rank 1536 --kv-lora-rank 512 --qk-nope-head-dim 128 --qk-rope-head-dim 64 --v-head-dim 128 --mtp-num-layers 1"
if [ -z ${MP_PP0_LAYERS} ]; then
    uneven=""
elif [ ${PP} -gt 1 ]; then
    if [ $(( ( 61 - ${MP_PP0_LAYERS} ) % ( ${PP} - 1 ) )) != 0 ]; then
        exit -1
    fi
    uneven=" --decoder-first-pipeline-num-layers ${MP_PP0_LAYERS}"
fi
flags=" --micro-batch-size 1 --global-batch-size 512 --num-layers 61 --hidden-size 7168 --num-attention-heads 128 \
    --ffn-hidden-size 18432 --seq-length 4096 --max-position-embeddings 4096 --max-padding-length 4096 \
    --attention-dropout 0.0 --hidden-dropout 0.0 --clip-grad 1.0 --tensor-model-parallel-size ${TP} \
    --pipeline-model-parallel-size ${PP} --context-parallel-size 1 --extra-vocab-size 467 \
    --patch-tokenizer-type DeepSeekV2Tokenizer --swiglu --normalization RMSNorm --norm-epsilon 1e-6 \
    --use-rotary-position-embeddings --no-rope-fusion --rope-type yarn --untie-embeddings-and-output-weights \
    --disable-bias-linear --rotary-base 10000 --rotary-scaling-factor 40 --kv-channels 128 --qk-layernorm \
    --multi-latent-attention --transformer-impl transformer_engine --no-masked-softmax-fusion --use-rope-scaling \
    --manual-gc --recompute-granularity selective --recompute-modules mla_up_proj mlp moe --bf16 \
    --use-distributed-optimizer"
run="torchrun --nproc_per_node $gpus --nnodes $nodes pretrain_deepseek.py
 ${flags} --dataset MMAP ${experts} ${uneven} --attention-backend auto"
echo ${run}
eval ${run}

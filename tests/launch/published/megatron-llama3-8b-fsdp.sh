#!/bin/bash
# Made for the tests after NVIDIA/Megatron-LM@d98e8a64ddf34856e74b24714e3bedb2f5a39553:examples/megatron_fsdp/train_llama3_8b_fsdp_h100_fp8.sh:
# its order and its values, none of its text.
fsdp=${USE_MEGATRON_FSDP:-1}
shards=${SHARDING_STRATEGY:-"optim_grads_params"}
export CUDA_DEVICE_MAX_CONNECTIONS=1
training=(
    --micro-batch-size 1 --global-batch-size 128 --train-samples 1953125000 --lr 0.00015 --clip-grad 1.0 --bf16
    --cross-entropy-loss-fusion --no-check-for-nan-in-loss-and-grad --manual-gc --empty-unused-memory-level 1
)
if [ "${fsdp}" = 1 ]; then
    unset CUDA_DEVICE_MAX_CONNECTIONS
    training=("${training[@]}" --use-megatron-fsdp --data-parallel-sharding-strategy ${shards}
        --no-gradient-accumulation-fusion --calculate-per-token-loss --init-model-with-meta-device
        --ckpt-format fsdp_dtensor --use-nccl-ub --fsdp-double-buffer --fsdp-manual-registration
        # --num-distributed-optimizer-instances 2
    )
fi
training+=(--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather)
[ -f pretrain_gpt.py ] || { echo "no pretrain_gpt.py"; exit 1; }
torchrun --nproc_per_node 8 --nnodes 1 "pretrain_gpt.py" --use-mcore-models --num-layers 32 --hidden-size 4096 \
    --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --kv-channels 128 \
    --seq-length 8192 --max-position-embeddings 8192 --position-embedding-type rope --attention-dropout 0.0 \
    --hidden-dropout 0.0 --swiglu --normalization RMSNorm --attention-backend fused --apply-layernorm-1p \
    --untie-embeddings-and-output-weights --disable-bias-linear ${training[@]} --fp8-format hybrid --fp8-param-gather \
    --tensor-model-parallel-size 1 --context-parallel-size 1 --sequence-parallel --tokenizer-type NullTokenizer \
    --vocab-size 128256 --mock-data --save ckpt --load ckpt

#!/bin/bash
# Made for the tests after NVIDIA/Megatron-LM@d98e8a64ddf34856e74b24714e3bedb2f5a39553:examples/gptoss/02_train.sh:
# its order and its values, none of its text.
checkpoint="NONE"
while [[ $# -gt 0 ]]; do
    case $1 in
        --checkpoint-path) checkpoint="$2"; shift 2 ;;
        --distributed-config-file) settings="$2"; shift 2 ;;
        *) echo "what is $1?"; exit 1 ;;
    esac
done
if [ ! -d "$checkpoint" ]; then
    echo "no checkpoint: $checkpoint"
    exit 1
fi
[ -n "$settings" ] && source "$settings"
gpus=${GPUS_PER_NODE:-8} nodes=${NUM_NODES:-1}
stages=$(($gpus*$nodes))
program="pretrain_gpt.py"
shape=(
    --no-masked-softmax-fusion --transformer-impl transformer_engine --disable-bias-linear
    --untie-embeddings-and-output-weights --no-rope-fusion --normalization RMSNorm --num-layers 12 --hidden-size 512
    --ffn-hidden-size 2048 --num-attention-heads 64 --group-query-attention --num-query-groups 8 --seq-length 8192
    --max-position-embeddings 8192 --use-mcore-models --position-embedding-type rope --no-bias-gelu-fusion
    --export-force-local-attention --no-bias-dropout-fusion --quick-geglu --glu-linear-offset 1.0
    --softmax-type learnable --window-attn-skip-freq 2 --activation-func-clamp-value 7.0 --window-size 127,0
    --enable-gpt-oss
)
experts=(
    --num-experts 4 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss --moe-grouped-gemm
    --moe-token-dispatcher-type alltoall --overlap-param-gather --overlap-grad-reduce --moe-ffn-hidden-size 2048
    --moe-router-dtype fp32 --moe-z-loss-coeff 1e-3 --moe-permute-fusion
)
if [ ! -f "$program" ]; then echo "no $program"; exit 1; fi
python -m torch.distributed.run --nproc_per_node $gpus --nnodes $nodes ${program} ${shape[@]} ${experts[@]} \
    --mock-data --tokenizer-type NullTokenizer --vocab-size 128256 --micro-batch-size 1 --global-batch-size 128 \
    --lr 1.0e-5 --clip-grad 1.0 --bf16 --use-flash-attn --attention-softmax-in-fp32 \
    --accumulate-allreduce-grads-in-fp32 --disable-bf16-reduced-precision-matmul --recompute-activations \
    --tensor-model-parallel-size 1 --pipeline-model-parallel-size ${stages} --expert-model-parallel-size 1 \
    --sequence-parallel --context-parallel-size 1 --use-distributed-optimizer --fp8-format hybrid --fp8-param-gather

#!/bin/bash
# Made for the tests after NVIDIA/Megatron-LM@d98e8a64ddf34856e74b24714e3bedb2f5a39553:examples/llama/train_llama3_8b_h100_fp8.sh:
# its order and its values, none of its text.
out=${1:-"checkpoints/llama3"}
tokenizer=${3:-"MOCK"} data=${4:-"MOCK"}
mkdir -p "$(dirname "$out")"
gpus=8
nodes=1
world=$(($gpus*$nodes))
program="pretrain_gpt.py"
precision="fp8"
cache="${PWD}/cache"
mkdir -p "$cache"

where=(--nproc_per_node $gpus --nnodes $nodes --node_rank ${NODE_RANK:-0} --master_addr ${MASTER_ADDR:-localhost})
shape=(
    --use-mcore-models --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
    --group-query-attention --num-query-groups 8 --kv-channels 128 --seq-length 8192
    --max-position-embeddings 8192 --position-embedding-type rope --rotary-base 1000000 --rotary-percent 1.0
    --attention-dropout 0.0 --hidden-dropout 0.0 --swiglu --normalization RMSNorm --init-method-std 0.0134
    --attention-backend fused --apply-layernorm-1p --untie-embeddings-and-output-weights --disable-bias-linear
)
training=(
    --micro-batch-size 1 --global-batch-size 128 --train-samples 1953125000 --lr-decay-samples 1949218748
    --lr 0.00015 --min-lr 0.00001
    --decoupled-lr 5.0e-4 # of the decoupled optimizer
    --lr-decay-style cosine --clip-grad 1.0 --weight-decay 0.1 --bf16 --grad-reduce-in-bf16
    --cross-entropy-loss-fusion --calculate-per-token-loss --manual-gc --empty-unused-memory-level 1
    --exit-duration-in-mins 235
)
numbers=()
if [[ "$precision" == "fp8" ]]; then
    numbers+=("--fp8-format hybrid" "--fp8-amax-history-len 1024" "--fp8-amax-compute-algo max" "--fp8-param-gather")
fi
layout=(
    --tensor-model-parallel-size 1
    --context-parallel-size 1
    # --pipeline-model-parallel-size 1
    --sequence-parallel
)
training+=(--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather)
files=()
if [[ "$tokenizer" == "MOCK" ]] || [[ -z "$data" ]]; then
    files+=("--mock-data" "--tokenizer-type NullTokenizer" "--vocab-size 128256" "--data-cache-path ${cache}"
        "--tiktoken-pattern v2" "--split '99,1,0'" "--no-create-attention-mask-in-dataloader" "--no-mmap-bin-files"
        "--num-workers 1")
else
    files+=("--data-path $data" "--tokenizer-type HuggingFaceTokenizer" "--tokenizer-model $tokenizer")
fi
if [ ! -f "$program" ]; then
    echo "no $program here"
    exit 1
fi
torchrun ${where[@]} "$program" ${shape[@]} ${training[@]} ${numbers[@]} ${layout[@]} ${files[@]} \
    --log-interval 1 --profile --profile-step-start 4 --profile-step-end 6 --save "$out" --load "$out"
set +x

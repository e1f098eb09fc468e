#!/bin/bash
# Made for the tests after NVIDIA/Megatron-LM@d98e8a64ddf34856e74b24714e3bedb2f5a39553:examples/mixtral/train_mixtral_8x7b_distributed.sh:
# its order and its values, none of its text.
gpus=8
nodes=${SLURM_NNODES:-"1"}
rank=${RANK:-"0"}
out=$1 tokenizer=$2 data=$3
where=(--nproc_per_node $gpus --nnodes $nodes --node_rank $rank --master_addr ${MASTER_ADDR:-"localhost"})
shape=(
    --use-mcore-models --disable-bias-linear --seq-length 4096 --max-position-embeddings 32768
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --init-method-std 0.01
    --attention-dropout 0.0 --hidden-dropout 0.0 --normalization RMSNorm --position-embedding-type rope --swiglu
    --untie-embeddings-and-output-weights --group-query-attention --num-query-groups 8
    --no-masked-softmax-fusion --no-position-embedding --rotary-base 1000000
)
experts=(
    --num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-2
    --moe-grouped-gemm --moe-token-dispatcher-type alltoall --overlap-param-gather --overlap-grad-reduce
)
training=(
    --micro-batch-size 1 --global-batch-size 256 --lr 1e-4 --train-iters 500000 --clip-grad 1.0 --bf16
    --tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 --expert-model-parallel-size 8
    --use-distributed-optimizer --sequence-parallel
)
logging=(--log-interval 1 \
    --save-interval 10000 \
    --save $out --tensorboard-dir "${out}/tensorboard" --no-load-optim)
if [ -n "${WANDB_API_KEY}" ]; then
    logging+=(--wandb-project ${WANDB_PROJECT:-"Mixtral"})
fi
torchrun ${where[@]} pretrain_gpt.py ${shape[@]} ${experts[@]} --tokenizer-type Llama2Tokenizer \
    --tokenizer-model ${tokenizer} --data-path $data --split 99990,8,2 ${training[@]} ${logging[@]}

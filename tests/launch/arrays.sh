#!/bin/bash
# As NVIDIA/Megatron-LM examples/gpt3/train_gpt3_175b_distributed.sh: arrays, positional paths, sizes by variables.
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
MASTER_ADDR=localhost
MASTER_PORT=6000
NUM_NODES=${NUM_NODES:-4}
NODE_RANK=0
CHECKPOINT_PATH=$1
VOCAB_FILE=$2
mkdir -p "$CHECKPOINT_PATH"
DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES
    --master_addr $MASTER_ADDR
    --master_port $MASTER_PORT
)
GPT_MODEL_ARGS=(
    --num-layers 32
    --hidden-size 4096
    --num-attention-heads 32
    --seq-length 2048
    --max-position-embeddings 2048
    --attention-backend auto
)
TRAINING_ARGS=(
    --micro-batch-size 1
    --global-batch-size 128
    --train-iters 100
    --bf16
    --lr 6.0e-5
)
PARALLEL=(--tensor-model-parallel-size 4 --pipeline-model-parallel-size 4)
DATA_ARGS=(--data-path "$CHECKPOINT_PATH/data file" --vocab-file $VOCAB_FILE --vocab-size 50257 --split 949,50,1)
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    ${GPT_MODEL_ARGS[@]} \
    ${TRAINING_ARGS[@]} \
    ${PARALLEL[@]} \
    "${DATA_ARGS[@]}"

#!/bin/bash
# After deepspeedai/Megatron-DeepSpeed@4efb479:examples_deepspeed/azure/run-175b.sh: it writes DeepSpeed's configuration itself
set -ex
BASE_PATH=$PWD/dataset
mkdir -p $BASE_PATH
DS_CONFIG=$BASE_PATH/ds_config.json
MICRO_BATCH=4
NODES=${NODES:-2}
GPN=8
GLOBAL_BATCH=$(( ${GPN} * ${MICRO_BATCH} * ${NODES} ))
ZERO_STAGE=3

cat <<EOT > $DS_CONFIG
{
  "train_batch_size" : $GLOBAL_BATCH,
  "train_micro_batch_size_per_gpu": $MICRO_BATCH,
  "gradient_accumulation_steps": 1,
  "zero_optimization": {
    "stage": 3,
    "overlap_comm": true,
    "reduce_bucket_size": 90000000
  },
  "fp16": {"enabled": true}
}
EOT

ds_args=" --deepspeed --no-pipeline-parallel --deepspeed_config=$DS_CONFIG --zero-stage=$ZERO_STAGE"
deepspeed --force_multi --num_nodes=$NODES --num_gpus $GPN pretrain_gpt.py \
    --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 \
    --vocab-size 50257 --checkpoint-activations --deepspeed-activation-checkpointing $ds_args | tee $BASE_PATH/output.log

#!/bin/bash
# Made for the tests after NVIDIA/Megatron-LM@d98e8a64ddf34856e74b24714e3bedb2f5a39553:examples/academic_paper_scripts/sc21/run_table_1.sh:
# its order and its values, none of its text.
MODEL_SIZE=175B
if [ ${MODEL_SIZE} == "1.7B" ]; then
    TP=1 PP=1 MBS=16 GBS=512 NLS=24 HS=2304 NAH=24 DDP=torch NNODES=4
    EXTRA="--activations-checkpoint-method uniform "
elif [ ${MODEL_SIZE} == "175B" ]; then
    TP=8 PP=16 MBS=1 GBS=1536 NLS=96 HS=12288 NAH=96 DDP=local NNODES=128
    EXTRA="--activations-checkpoint-method uniform --num-layers-per-virtual-pipeline-stage 3 "
else
    exit 1
fi
export JOB_NAME=table_1_${MODEL_SIZE}
. `pwd`/config.sh
. `pwd`/batch.sh
exit 0

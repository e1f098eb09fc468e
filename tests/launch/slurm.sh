#!/bin/bash
#SBATCH --job-name=gpt
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:h100:8
# As batch scripts of Slurm clusters: the first node is the master, srun starts a launcher on each node.
set -euo pipefail
module load cuda
source /opt/conda/bin/activate train
nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
export MASTER_ADDR=${nodes[0]}
GPUS=$(nvidia-smi -L | wc -l)
cd /data/Megatron-LM
sleep 3600
srun --cpu-bind=none --nodes=$SLURM_NNODES bash -c "torchrun --nnodes ${#nodes[@]} --nproc_per_node $GPUS \
    --node_rank \$SLURM_NODEID --rdzv_endpoint $MASTER_ADDR:29500 pretrain_gpt.py \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 --max-position-embeddings 2048 \
    --micro-batch-size 1 --global-batch-size 128 --bf16 --vocab-size 50257 \
    --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4" 2>&1 | tee logs/run.$(date +%s).log

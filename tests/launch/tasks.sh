#!/bin/sh
# A process a GPU by srun or mpirun; a script that writes and submits its batch script.
cat > job.sbatch <<EOF
#!/bin/bash
#SBATCH -N 4
#SBATCH --ntasks-per-node=8
$1 -N 4 --ntasks-per-node=8 python -u pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 \\
    --global-batch-size 128 --bf16 --vocab-size 50257 --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4
EOF
sbatch --account=x job.sbatch

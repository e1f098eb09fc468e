cat > run.sh <<'SCRIPT'
#!/bin/bash
#SBATCH --nodes=4 --ntasks-per-node=1
#SBATCH --gpus-per-task=8
#SBATCH -c 96
: "${TP:=2}"
read -r -d '' ARGS <<E
--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --vocab-size 32000 --bf16
E
while IFS=, read -ra gpus; do n=${#gpus[@]}; done <<< "$CUDA_VISIBLE_DEVICES"
echo "$OMP"
srun -c $SLURM_CPUS_PER_TASK torchrun --nnodes $SLURM_NTASKS --nproc-per-node $n pretrain_gpt.py $ARGS --tensor-model-parallel-size $TP \
    --micro-batch-size 1 --global-batch-size $((SLURM_NTASKS * SLURM_GPUS_ON_NODE))
SCRIPT
"$STEPSIM" import --launch run.sh | grep -E 'nodes|gpus|tensor|batch|not set'
printf 'mpirun -np 32 python pretrain_gpt.py --num-layers 2\n' > mpi.txt
"$STEPSIM" import --job mpi.txt
printf '#SBATCH -N 2 --ntasks-per-node=1048576 --gpus-per-task=1048576\ntorchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --tp 2 --bf16 --lr 1$SLURM_NTASKS\n' > many.sh
"$STEPSIM" import --launch many.sh | grep -E '^--(nodes|gpus)'

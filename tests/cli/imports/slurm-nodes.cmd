# torchrun's --nnodes against the nodes of the batch job: more, fewer, an elastic range, a step of srun on some of them, --nodes
try() {
    printf '#!/bin/bash\n#SBATCH -N 4 --gpus-per-node=8\n%s pretrain_gpt.py --num-layers 2 --tensor-model-parallel-size 2 --bf16 --lr 1\n' "$1" > run.sh
    shift
    "$STEPSIM" import --launch run.sh "$@" 2>&1 | grep -E 'error|hint|^--nodes|srun'
}
try 'srun torchrun --nnodes 8 --nproc_per_node 8'
try 'torchrun --nnodes=2 --nproc_per_node 8'
try 'srun torchrun --nnodes 2:4 --nproc_per_node 8'
try 'srun -N 2 torchrun --nnodes 2 --nproc_per_node 8'
try 'srun --nodes=1 torchrun --nnodes 4 --nproc_per_node 8'
try 'srun torchrun --nnodes 8 --nproc_per_node 8' --nodes 8

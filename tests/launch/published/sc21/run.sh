#!/bin/bash
#SBATCH -t 0:30:00 --exclusive --mem=0 --overcommit --ntasks-per-node=8
here=`pwd`
mkdir -p ${here}/logs
command="python -u ${CODE}/pretrain_gpt.py ${PARAMS}"
srun -l --container-image "image" --container-mounts "${here}:${here}" --output=${here}/logs/%x_%j.log sh -c "${command}"

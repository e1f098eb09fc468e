# Trainers whose arguments are not read are named, whatever launcher and flags stand before them.
import() { printf '%s\n' '#!/bin/bash' "$1" > run.sh; "$STEPSIM" import --launch run.sh 2>&1; }
import 'ray job submit -- python3 train.py --actor-num-nodes 1 --num-layers 4 --tensor-model-parallel-size 2'
import 'python3 -m verl.trainer.main_ppo --config-path=config --config-name=ppo_megatron_trainer.yaml a.b=1'
import 'torchrun --nproc_per_node 8 -m verl.trainer.sft_trainer data.train_files=x'
import 'megatron pt --model Qwen/Qwen3-8B --tensor_model_parallel_size 2'
import '/opt/bin/swift sft --model Qwen/Qwen3-8B'
import 'tune run --nproc_per_node 4 full_finetune_distributed --config a.yaml'
import 'torchrun --nproc_per_node 8 scripts/training/run_recipe.py --recipe llama3_8b_pretrain_config train.global_batch_size=256'
import 'python scripts/performance/setup_experiment.py -m qwen3 -s 30b_a3b -g h100 -ng 16'
import 'nemo llm pretrain --factory llama3_8b trainer.num_nodes=2'
# A file of the user's own that is called so is not one of them.
import 'torchrun --nproc_per_node 8 --nnodes 1 megatron.py --model llama3-8b --seq 4096 --mbs 1 --gbs 8' | grep -c -- --seq

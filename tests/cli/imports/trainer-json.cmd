export STEPSIM_COLUMNS=1000 # whole lines
printf '{"model_name_or_path": "Qwen/Qwen3-8B", "per_device_train_batch_size": 1, "bf16": true, "block_size": 4096,\n "deepspeed": "z2.json"}\n' > args.json
printf '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}\n' > z2.json
printf 'model_name_or_path: Qwen/Qwen3-8B\nmax_length: 4096\nbf16: true\nper_device_train_batch_size: 2\n' > recipe.yaml
printf 'torchrun --nproc_per_node 8 run_clm.py args.json\n' > one.txt
printf 'accelerate launch --use_fsdp --num_machines 2 --num_processes 16 run_sft.py --config recipe.yaml --max_length 8192\n' > two.txt
for job in "args.json --nodes 1" one.txt two.txt; do "$STEPSIM" run --verbose --platform h100 --engine native --job $job | sed -n '4,6p'; done
printf '{"model_type": "qwen3", "hidden_size": 64}\n' > config.json
"$STEPSIM" run --verbose --platform h100 --job config.json

export STEPSIM_COLUMNS=1000 # whole lines
cat > run.sh <<'SCRIPT'
#!/bin/bash
cat > acc.yaml <<YAML
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_sharding_strategy: FULL_SHARD
mixed_precision: bf16
num_machines: 2
num_processes: 16
YAML
accelerate launch --config_file acc.yaml run_clm.py --model_name_or_path Qwen/Qwen3-8B --block_size 4096 --per_device_train_batch_size 1
SCRIPT
"$STEPSIM" run --verbose --platform h100 --launch run.sh | sed -n '4,6p'
grep -v '#!' run.sh > plain.sh
"$STEPSIM" run --verbose --platform h100 --launch plain.sh | sed -n '4,6p'

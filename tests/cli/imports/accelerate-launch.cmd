export STEPSIM_COLUMNS=1000 # whole lines
cp "$SRC"/tests/import/huggingface/fsdp_config.yaml .
printf '#!/bin/bash\n#SBATCH --nodes=4\nexport BATCH=${BATCH:-2}\naccelerate launch --config_file fsdp_config.yaml --num_processes 32 --num_machines 4 run_clm.py --model_name_or_path Qwen/Qwen3-8B --block_size 4096 --bf16 --per_device_train_batch_size $BATCH\n' > run.sh
"$STEPSIM" run --verbose --platform h100 --env BATCH=1 --launch run.sh | sed -n '4,6p'

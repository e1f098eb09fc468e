cp "$SRC"/tests/import/huggingface/ds_config.json .
printf 'deepspeed train.py \\\n  --deepspeed ds_config.json \\\n  --model_name_or_path Qwen/Qwen3-8B \\\n  --per_device_train_batch_size 4\n' > run.txt
"$STEPSIM" run --platform h100 --nodes 1 --job run.txt

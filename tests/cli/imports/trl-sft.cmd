export STEPSIM_COLUMNS=1000 # whole lines
echo 'trl sft --model_name_or_path Qwen/Qwen3-8B --dataset_name a/b --max_length 4096 --per_device_train_batch_size 1 --bf16' > sft.cmd
"$STEPSIM" run --verbose --platform h100 --launch sft.cmd | sed -n '4,6p; /^Warnings/,/^$/p'

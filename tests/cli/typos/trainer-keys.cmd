# Arguments that a Trainer does not have, one or two letters from those that it has; a name of the user's own script passes
printf 'model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: full\nbf16: true\nmy_own_name: 3\n' > own.yaml
for key in "cutof_len: 4096" "per_device_train_batchsize: 4" "gradient_acumulation_steps: 8" "gradient_accumulation: 8"; do { cat own.yaml; echo "$key"; } > t.yaml; "$STEPSIM" run --verbose --platform h100 --nodes 1 --job t.yaml; echo $?; done
echo 'trl sft --model_name_or_path Qwen/Qwen3-8B --max_lenght 4096 --bf16' > t.cmd; "$STEPSIM" run --verbose --platform h100 --nodes 1 --job t.cmd; echo $?
"$STEPSIM" run --verbose --platform h100 --nodes 1 --job own.yaml | grep -c my_own_name

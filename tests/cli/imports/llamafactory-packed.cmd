printf 'model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: full\ncutoff_len: 4096\nbf16: true\npacking: true\nneat_packing: true\nper_device_train_batch_size: 1\n' > sft.yaml
printf 'full_determinism: true\n' | cat sft.yaml - > slow.yaml
printf 'optim: lion_8bit\n' | cat sft.yaml - > bits.yaml
"$STEPSIM" import --job sft.yaml | grep -i pack
"$STEPSIM" import --job slow.yaml
"$STEPSIM" import --job bits.yaml

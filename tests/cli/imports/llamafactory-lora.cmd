printf 'model_name_or_path: Qwen/Qwen3-4B\nstage: sft\nfinetuning_type: lora\nlora_rank: 8\n' > lora.yaml
"$STEPSIM" run --platform h100 --nodes 1 --job lora.yaml

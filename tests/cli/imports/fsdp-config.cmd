printf '{"version": 2, "reshard_after_forward": false}\n' > fsdp.json
printf 'torchrun --nnodes 1 --nproc_per_node 8 train.py --fsdp full_shard \\\n  --fsdp_config fsdp.json --model_name_or_path Qwen/Qwen3-4B \\\n  --bf16 --max_length 2048\n' > run.txt
"$STEPSIM" import --job run.txt | grep fsdp
rm fsdp.json
"$STEPSIM" import --job run.txt

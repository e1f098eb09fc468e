# A misspelt key of a config.json is an error at its line, a damaged part is named, and an unknown family gets families to take
run() { "$STEPSIM" run --platform h800 --nodes 2 --model ./config.json --bf16 --seq 4096 --mbs 1 --gbs 16 --brief; echo $?; }
body='"hidden_size": 2048, "num_hidden_layers": 4, "num_attention_heads": 16,
"intermediate_size": 4096, "vocab_size": 32000, "num_key_value_heads": 4'
printf '{"model_type": "qwen3_moe",\n%s, "num_experts": 8, "num_experts_per_tok": 2,\n"moe_intermediat_size": 768}\n' "$body" > config.json; run
printf '{"model_type": "my_moe",\n%s, "num_experts": 8}\n' "$body" > config.json; run
printf '{"model_type": "my_dense",\n%s}\n' "$body" > config.json; run
printf '{"model_type": "qwen2_vl",\n"text_config": [1, 2]}\n' > config.json; run
printf '{"model_type": "qwen3_vl",\n\n"text_config": {"model_type": "qwen3", "num_hidden_layers": 4}}\n' > config.json; run
printf '{"model_type": "qwen3_vl",\n\n"text_config": {%s}}\n' "$body" > config.json; run
printf '{"model_type": "llama",\n%s}\n' "$body" | sed 's/hidden_size/hiden_size/' > config.json; run

printf '{"model_type": "glm4_moe", "hidden_size": 512, "intermediate_size": 1024, "moe_intermediate_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64, "n_routed_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000, "max_position_embeddings": 4096, "num_nextn_predict_layers": 1}' > config.json
J="--platform h100 --nodes 1 --model config.json --bf16 --seq-length 4096 --micro-batch-size 1 --global-batch-size 8"
for more in "" "--mtp-num-layers 0"; do $STEPSIM plan $J $more | sed -n '1,2p;/^ *0 .*loss/p'; done

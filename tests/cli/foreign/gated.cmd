printf 'model: {num_layers: 2, hidden_size: 64, num_attention_heads: 4, seq_length: 64, vocab_size: 64, gated_linear_unit: true}\ntrain: {micro_batch_size: 1, global_batch_size: 8}\nddp: {overlap_grad_reduce: true}\n' > bridge.yaml
"$STEPSIM" plan --platform h100 --job bridge.yaml +model.activation_func=torch.nn.functional.silu | head -1
"$STEPSIM" plan --platform h100 --job bridge.yaml

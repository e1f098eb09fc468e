# Gated delta nets in a dump of Megatron-Bridge, and Qwen3.5 by torchtitan's name: both are the models of workloads/models.
cat > bridge.yaml <<'YAML'
model:
  _target_: megatron.bridge.models.gpt_provider.GPTModelProvider
  num_layers: 48
  hidden_size: 2048
  num_attention_heads: 16
  num_query_groups: 2
  kv_channels: 256
  ffn_hidden_size: 5120
  num_moe_experts: 512
  moe_router_topk: 10
  moe_ffn_hidden_size: 512
  moe_shared_expert_intermediate_size: 512
  moe_shared_expert_gate: true
  vocab_size: 151936
  seq_length: 4096
  normalization: RMSNorm
  gated_linear_unit: true
  activation_func: torch.nn.functional.silu
  qk_layernorm: true
  attention_output_gate: true
  add_bias_linear: false
  position_embedding_type: rope
  share_embeddings_and_output_weights: false
  experimental_attention_variant: gated_delta_net
  linear_attention_freq: 4
  linear_conv_kernel_dim: 4
  linear_key_head_dim: 128
  linear_value_head_dim: 128
  linear_num_key_heads: 16
  linear_num_value_heads: 32
  pipeline_model_parallel_size: 2
  expert_model_parallel_size: 8
  bf16: true
train:
  micro_batch_size: 1
  global_batch_size: 512
dataset:
  seq_length: 4096
YAML
"$STEPSIM" import bridge.yaml | grep -e linear -e variant -e gate
"$STEPSIM" import bridge.yaml > bridge.args
"$STEPSIM" run --platform h800 --nodes 16 --job bridge.args --json > bridge.json
"$STEPSIM" run --platform h800 --nodes 16 --model qwen3-next-80b-a3b --pp 2 --ep 8 --seq 4096 --mbs 1 --gbs 512 --bf16 --json > model.json
grep -h -e '"parameters"' -e '"active_parameters"' bridge.json model.json
printf '[model]\nname = "qwen3_5"\nflavor = "35B-A3B"\n[training]\nseq_len = 4096\nlocal_batch_size = 1\n' > titan.toml
"$STEPSIM" import titan.toml | grep -e --model

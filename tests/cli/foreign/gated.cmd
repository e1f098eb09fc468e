cat > bridge.yaml <<END
_target_: megatron.bridge.training.config.ConfigContainer
model: {num_layers: 2, hidden_size: 64, num_attention_heads: 4, vocab_size: 64, tensor_model_parallel_size: 1, gated_linear_unit: true}
train: {micro_batch_size: 1, global_batch_size: 16}
dataset: {seq_length: 64}
mixed_precision: bf16_mixed
optimizer: {optimizer: adam}
ddp: {use_distributed_optimizer: true}
END
"$STEPSIM" plan --platform h100 --nodes 2 --job bridge.yaml +model.activation_func=torch.nn.functional.silu | head -1
"$STEPSIM" plan --platform h100 --nodes 2 --job bridge.yaml
cat > nemo.yaml <<END
_target_: nemo.collections.llm.api.pretrain
model:
  _target_: nemo.collections.llm.gpt.model.llama.LlamaModel
  config: {_target_: nemo.collections.llm.gpt.model.llama.Llama31Config8B, gated_linear_unit: true}
trainer:
  devices: 8
  num_nodes: 2
  strategy: {_target_: nemo.lightning.pytorch.strategies.MegatronStrategy, tensor_model_parallel_size: 2}
data: {_target_: nemo.collections.llm.gpt.data.mock.MockDataModule, seq_length: 8192, global_batch_size: 128, micro_batch_size: 1}
END
"$STEPSIM" plan --platform h100 --job nemo.yaml | head -1

# nemo.collections.llm.recipes.llama31_405b with 8 virtual stages: 126 layers, embedding and loss by 8 x 8
export STEPSIM_COLUMNS=1000 # whole lines
cat > llama31_405b.yaml <<'Y'
model:
  config: {_target_: nemo.collections.llm.gpt.model.llama.Llama31Config405B, seq_length: 8192}
data: {_target_: nemo.collections.llm.gpt.data.mock.MockDataModule, seq_length: 8192, global_batch_size: 512, micro_batch_size: 1}
trainer:
  num_nodes: 64
  devices: 8
  accumulate_grad_batches: 1
  plugins: {_target_: nemo.lightning.pytorch.plugins.mixed_precision.MegatronMixedPrecision, precision: bf16-mixed, grad_reduce_in_fp32: true}
  callbacks:
  - {_target_: nemo.utils.exp_manager.TimingCallback}
  - {_target_: my.Callback, every: 3}
  strategy:
    _target_: nemo.lightning.pytorch.strategies.megatron_strategy.MegatronStrategy
    tensor_model_parallel_size: 8
    pipeline_model_parallel_size: 8
    virtual_pipeline_model_parallel_size: 8
    context_parallel_size: 4
    sequence_parallel: true
    account_for_embedding_in_pipeline_split: true
    account_for_loss_in_pipeline_split: true
    ckpt_async_save: true
    ddp: {overlap_grad_reduce: true, overlap_param_gather: true, average_in_collective: true, check_for_nan_in_grad: true}
optim: {_target_: x, config: {_target_: x, optimizer: adam, use_distributed_optimizer: true}}
Y
"$STEPSIM" run --verbose --platform h100 --job llama31_405b.yaml | sed -n '4,6p; /^Warnings/,/^$/p'

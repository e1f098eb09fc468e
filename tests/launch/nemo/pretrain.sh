#!/bin/bash
# As a script for NeMo 1 is: Hydra overrides on top of a configuration that is not beside it.
NEMO=/opt/NeMo/examples/nlp/language_modeling
DEVICES=8
python $NEMO/megatron_gpt_pretraining.py --config-path=$NEMO/conf --config-name=megatron_llama_config-7b \
    trainer.devices=$DEVICES \
    trainer.num_nodes=2 \
    trainer.precision=bf16 \
    model.micro_batch_size=1 \
    model.global_batch_size=64 \
    model.tensor_model_parallel_size=2 \
    +model.context_parallel_size=2 \
    model.megatron_amp_O2=True \
    model.optim.name=distributed_fused_adam \
    model.encoder_seq_length=8192

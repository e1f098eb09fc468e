$STEPSIM run --platform h100 --job $SRC/tests/launch/nemo/megatron_llama_config-13b.yaml +model.data.seq_length=1024

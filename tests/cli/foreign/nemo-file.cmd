export STEPSIM_COLUMNS=1000 # whole lines
$STEPSIM run --verbose --platform h100 --job $SRC/tests/launch/nemo/megatron_llama_config-13b.yaml trainer.devices=8 trainer.precision=bf16 model.tensor_model_parallel_size=4 > all; sed -n "4,6p" all

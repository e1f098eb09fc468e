$STEPSIM run --platform h100 --config-name=my_config trainer.devices=8

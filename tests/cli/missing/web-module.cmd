STEPSIM_MODULE_DIR=none "$STEPSIM" serve --port 0

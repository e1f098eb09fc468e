"$STEPSIM" list models

"$STEPSIM" list model

"$STEPSIM" help plan

"$STEPSIM" help

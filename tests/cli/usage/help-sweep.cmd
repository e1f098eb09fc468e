"$STEPSIM" help sweep

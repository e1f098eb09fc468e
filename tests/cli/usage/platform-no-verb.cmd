"$STEPSIM" platform

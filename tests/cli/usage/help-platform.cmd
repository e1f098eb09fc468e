"$STEPSIM" platform --help

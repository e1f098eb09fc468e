"$STEPSIM" run --help

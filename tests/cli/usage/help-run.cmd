"$STEPSIM" run --verbose --help

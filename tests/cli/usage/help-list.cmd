"$STEPSIM" list --help

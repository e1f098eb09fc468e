"$STEPSIM" program --help

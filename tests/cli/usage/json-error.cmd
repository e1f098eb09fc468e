"$STEPSIM" frobnicate --json

"$STEPSIM" platform show h800 --xml --json

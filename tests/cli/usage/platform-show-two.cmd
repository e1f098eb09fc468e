"$STEPSIM" platform show h800 h20

"$STEPSIM" platform shwo h800

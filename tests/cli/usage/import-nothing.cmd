"$STEPSIM" import

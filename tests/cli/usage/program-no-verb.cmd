"$STEPSIM" program

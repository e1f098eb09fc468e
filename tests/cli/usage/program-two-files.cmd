"$STEPSIM" program read a b

"$STEPSIM" program read ./none.prog

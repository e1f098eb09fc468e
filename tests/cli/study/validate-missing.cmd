"$STEPSIM" validate no-such.csv

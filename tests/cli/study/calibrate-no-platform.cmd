"$STEPSIM" calibrate --rows runs

"$STEPSIM" calibrate --platform a100 --rows runs

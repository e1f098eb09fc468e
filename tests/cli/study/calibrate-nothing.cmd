"$STEPSIM" calibrate --platform h800

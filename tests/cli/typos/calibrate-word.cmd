"$STEPSIM" calibrate h800 --platform h800

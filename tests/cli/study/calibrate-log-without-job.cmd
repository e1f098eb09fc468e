"$STEPSIM" calibrate --platform a100 --log x.log

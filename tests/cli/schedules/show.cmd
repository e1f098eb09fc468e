"$STEPSIM" schedule show zb-v --pp 4 -m 8 --width 80

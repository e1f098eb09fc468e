"$STEPSIM" schedule show zb-h3 --pp 4 -m 8

"$STEPSIM" schedule compare --pp 4 -m 8

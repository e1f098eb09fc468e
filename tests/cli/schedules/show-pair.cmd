"$STEPSIM" schedule show dualpipe --pp 4 -m 8 --width 120

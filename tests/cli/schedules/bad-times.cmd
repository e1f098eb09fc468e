"$STEPSIM" schedule search --pp 2 -m 4 --times 1,2

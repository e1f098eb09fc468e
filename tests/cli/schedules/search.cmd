"$STEPSIM" schedule search --pp 4 -m 8 --cap 4

"$STEPSIM" schedule show 1f1b --pp 2 -m 2 --json

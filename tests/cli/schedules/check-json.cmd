"$STEPSIM" schedule write zb-h1 --pp 2 -m 2 -o a.csv && "$STEPSIM" schedule check a.csv --json

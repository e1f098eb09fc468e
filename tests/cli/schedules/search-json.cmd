"$STEPSIM" schedule search --pp 2 -m 4 --no-barrier --steps 10 --json

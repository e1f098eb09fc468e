"$STEPSIM" schedule compare --schedules zb-h1 --pp 2 -m 4 --json

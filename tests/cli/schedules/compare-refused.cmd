"$STEPSIM" schedule compare --schedules 1f1b,interleaved:4,zb-h2 --pp 4 -m 4

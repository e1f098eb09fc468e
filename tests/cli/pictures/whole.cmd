# Pictures of a program that no calibration moves, as a whole: every box, bar and word where it was.
"$STEPSIM" program read "$SRC/docs/guide/examples/two-ranks.prog" --gantt g.svg --memory m.svg > answer.txt && cat g.svg m.svg && "$STEPSIM" schedule compare --pp 2 --microbatches 4 --schedules 1f1b,zb-h1 --gantt c.svg > answer.txt; cat c.svg

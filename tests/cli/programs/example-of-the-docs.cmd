"$STEPSIM" program read "$SRC/docs/examples/two-ranks.prog"; "$STEPSIM" program read "$SRC/docs/examples/two-ranks.prog" --engine simgrid

"$STEPSIM" program read "$SRC/docs/guide/examples/two-ranks.prog"; "$STEPSIM" program read "$SRC/docs/guide/examples/two-ranks.prog" --engine simgrid

"$STEPSIM" program read "$SRC/docs/guide/examples/two-ranks.prog" --window 2s --gantt x.svg
status=$?
ls
exit $status

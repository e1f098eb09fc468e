"$STEPSIM" program read "$SRC/docs/guide/examples/two-ranks.prog" --window 2s:1s --gantt x.svg
status=$?
ls
exit $status

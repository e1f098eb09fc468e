"$STEPSIM" program read "$SRC/docs/guide/examples/two-ranks.prog" --window 5s:6s --gantt x.svg
status=$?
ls
exit $status

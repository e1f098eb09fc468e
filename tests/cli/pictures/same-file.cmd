"$STEPSIM" program read "$SRC/docs/guide/examples/two-ranks.prog" --gantt x.svg --memory x.svg
status=$?
ls
exit $status

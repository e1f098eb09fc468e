"$STEPSIM" program read "$SRC/docs/guide/examples/two-ranks.prog" --gantt
status=$?
ls
exit $status

"$STEPSIM" program read "$SRC/docs/examples/two-ranks.prog" --gantt
status=$?
ls
exit $status

"$STEPSIM" program read "$SRC/docs/examples/two-ranks.prog" --gantt x.svg --output x.svg
status=$?
ls
exit $status

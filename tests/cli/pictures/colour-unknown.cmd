"$STEPSIM" program read "$SRC/docs/examples/two-ranks.prog" --color-by stage --gantt x.svg
status=$?
ls
exit $status

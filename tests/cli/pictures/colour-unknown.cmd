"$STEPSIM" program read "$SRC/docs/guide/examples/two-ranks.prog" --color-by stage --gantt x.svg
status=$?
ls
exit $status

"$STEPSIM" program read "$SRC/docs/guide/examples/two-ranks.prog" --trace -
status=$?
ls
exit $status

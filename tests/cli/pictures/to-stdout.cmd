"$STEPSIM" program read "$SRC/docs/examples/two-ranks.prog" --trace -
status=$?
ls
exit $status

"$STEPSIM" program read "$SRC/docs/examples/two-ranks.prog" --report nowhere/x.html
status=$?
ls
exit $status

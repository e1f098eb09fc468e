"$STEPSIM" program read "$SRC/docs/guide/examples/two-ranks.prog" --report nowhere/x.html
status=$?
ls
exit $status

"$STEPSIM" program check "$SRC/tests/cli/programs/deadlock.prog"

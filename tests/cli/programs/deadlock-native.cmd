"$STEPSIM" program read "$SRC/tests/cli/programs/deadlock.prog"

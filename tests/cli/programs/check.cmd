"$STEPSIM" program check "$SRC/tests/cli/programs/works.prog"

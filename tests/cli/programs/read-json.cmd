"$STEPSIM" program read "$SRC/tests/cli/programs/works.prog" --json

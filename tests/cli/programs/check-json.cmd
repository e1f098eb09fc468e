cp "$SRC/tests/cli/programs/works.prog" p; "$STEPSIM" program check p --json

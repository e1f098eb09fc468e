cp "$SRC/tests/cli/programs/deadlock.prog" p; "$STEPSIM" program check p --json

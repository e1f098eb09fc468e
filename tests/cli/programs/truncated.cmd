head -n 12 "$SRC/tests/cli/programs/works.prog" > bad.prog; "$STEPSIM" program read bad.prog

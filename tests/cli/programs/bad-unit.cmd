sed 's/2ms work/2 work/' "$SRC/tests/cli/programs/works.prog" > bad.prog; "$STEPSIM" program read bad.prog

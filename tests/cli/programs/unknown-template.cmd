sed 's/slot a.body/slot a.boddy/' "$SRC/tests/cli/programs/works.prog" > bad.prog; "$STEPSIM" program read bad.prog

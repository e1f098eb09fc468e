sed 's/send a>b 1MB/send b>a 1MB/;s/wait-send a>b/wait-send b>a/' "$SRC/tests/cli/programs/works.prog" > bad.prog; "$STEPSIM" program read bad.prog

"$STEPSIM" schedule show zb-h1

"$STEPSIM" run --job ./none.args

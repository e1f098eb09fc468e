"$STEPSIM" run --platform h800 --engine

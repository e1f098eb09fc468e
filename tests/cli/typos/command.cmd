"$STEPSIM" rum --platform h800

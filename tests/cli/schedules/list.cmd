"$STEPSIM" schedule list | head -12

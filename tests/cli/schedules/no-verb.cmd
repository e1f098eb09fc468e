"$STEPSIM" schedule

"$STEPSIM" validate --update

"$STEPSIM" validate runs --update

"$STEPSIM" validate runs --svg a.svg --json | grep -c '"configuration"'; grep -c '<circle' a.svg

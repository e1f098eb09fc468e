"$STEPSIM" validate runs --svg a.svg --json | grep -c '"id"'; grep -c '<circle' a.svg

"$STEPSIM" list --json=yes

"$STEPSIM" list models stacks

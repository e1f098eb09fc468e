"$STEPSIM" plan --platform h800 --engine native

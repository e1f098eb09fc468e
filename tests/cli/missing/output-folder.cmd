"$STEPSIM" platform show h800 -o none/out.txt

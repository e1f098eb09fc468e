mkdir d; : > f; "$STEPSIM" platform show h800 -o d; "$STEPSIM" platform show h800 -o f/out.txt

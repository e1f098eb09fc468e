"$STEPSIM" run --platform h800 --nodes 1 --model llama3.1-8b --engin native

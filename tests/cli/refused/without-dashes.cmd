"$STEPSIM" run --platform h800 --model llama3.1-8b --without --sequence-parallel

"$STEPSIM" run --model llama3.1-8b --gbs 8 --seq 1024

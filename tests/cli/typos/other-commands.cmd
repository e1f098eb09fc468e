for c in cost predict convert costs; do "$STEPSIM" $c --platform h800; done; "$STEPSIM" run --platform h800 --nodes 1 --model llama3.1-8b --bf16 --gbs 8 --mbs 1 --seq 8k

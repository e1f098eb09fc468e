"$STEPSIM" run --platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 8 --mbs 1 --gbs 4 --seq 4096 --tolerance 5

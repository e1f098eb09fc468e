"$STEPSIM" run --engine native --platform gb200 --nodes 36 --model llama3.1-8b --seq 4096 --mbs 1 --gbs 144 --bf16 | sed -n 2p

"$STEPSIM" run --platform gb200 --nodes 20 --model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 80 --slow-link nic-19-0:4

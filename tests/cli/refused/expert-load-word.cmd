"$STEPSIM" run --platform h800 --nodes 2 --model mixtral-8x7b --bf16 --ep 8 --seq 512 --mbs 1 --gbs 16 --moe-load balance

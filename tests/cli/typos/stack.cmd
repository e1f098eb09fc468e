"$STEPSIM" run --platform h800 --nodes 1 --model llama3.1-8b --stack megatron-2408 --bf16 --gbs 8 --seq 1024

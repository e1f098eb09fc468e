"$STEPSIM" run --engine native --platform h800 --nodes 8 --model qwen3-235b-a22b --bf16 --mbs 1 --gbs 1024 --seq 4096 --ep 64 --moe-token-dispatcher-type alltoall --moe-load zipf:0.3 --level flow

"$STEPSIM" compare --platform h100 --nodes 1 --gpus-per-node 1 --model llama3.1-8b --bf16 --seq 2048 --mbs 1 --gbs 2 --num-layers 2 --with "--gpus-per-node 2" | grep -o "on [0-9]* GPU[s,]*"

"$STEPSIM" plan --platform h800 --nodes 2 --model llama2-7b --bf16 --pp 4 --mtp-num-layers 2 --seq 4096 --mbs 1 --gbs 16 | grep -A 4 "layers by chunk"

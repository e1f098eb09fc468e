"$STEPSIM" plan --platform h800 --nodes 2 --model llama2-7b --bf16 --pp 4 --decoder-first-pipeline-num-layers 5 --account-for-loss-in-pipeline-split --seq 4096 --mbs 1 --gbs 16

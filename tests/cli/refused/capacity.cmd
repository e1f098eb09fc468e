"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --tp 2 --mbs 1 --sequence-parallel --use-distributed-optimizer --gbs 64 --pp 3 --nodes 1,2 --layout given --tokens 1T

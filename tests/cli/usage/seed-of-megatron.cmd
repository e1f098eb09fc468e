"$STEPSIM" plan --platform h800 --nodes 1 --model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 8 --tp 8 --seed 1234 --json | sed -n "/ignored/,/]/p"

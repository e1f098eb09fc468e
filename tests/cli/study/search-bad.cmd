"$STEPSIM" search --platform h800 --model llama3.1-8b --bf16 --seq 4096
"$STEPSIM" search --platform h800 --model llama3.1-8b --bf16 --seq 4096 --gbs 32 --vary nodes=8..4
"$STEPSIM" search --platform h800 --model llama3.1-8b --bf16 --seq 4096 --gbs 32 --nodes 1 --tp 3
"$STEPSIM" search --platform h800 --model llama3.1-8b --bf16 --seq 4096 --gbs 32 --nodes 1 --csv none/s.csv
"$STEPSIM" search --platform h800 --model llama3.1-8b --bf16 --seq 4096 --gbs 32 --nodes 1 --axes switches

"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --tp 2 --mbs 1 --sequence-parallel --use-distributed-optimizer --gbs 64 --nodes 1
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --tp 2 --mbs 1 --sequence-parallel --use-distributed-optimizer --gbs 64 --nodes 1 --tokens 15000
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --tp 2 --mbs 1 --sequence-parallel --use-distributed-optimizer --gbs 64 --nodes 1 --tokens 1T --deadline 30
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --tp 2 --mbs 1 --sequence-parallel --use-distributed-optimizer --gbs 64 --nodes 4..2 --tokens 1T
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --tp 2 --mbs 1 --sequence-parallel --use-distributed-optimizer --gbs 64 --nodes 1 --tokens many
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --gbs 64 --nodes 1..8 --tokens 1T --budget 50
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --seq 4096 --nodes 1 --tokens 1T
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --tp 2 --mbs 1 --sequence-parallel --use-distributed-optimizer --gbs 64 --nodes 1 --layout given --tokens 1T --csv same --svg same
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --tp 2 --mbs 1 --sequence-parallel --use-distributed-optimizer --gbs 64 --nodes 1 --layout given --tokens 1T --svg none/curve.svg
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --gbs 64 --nodes 1..8 --tokens 1e30
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --gbs 64 --nodes 1..8 --tokens 1T --deadline 90s
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --gbs 64 --nodes 1..8 --tokens 1T --deadline 1e9d
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --gbs 64 --nodes 1..8 --tokens 1T --budget 1e30
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --gbs 64 --nodes 1..8 --tokens 1T --price 1e6USD/h
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --gbs 64 --nodes 1..8 --tokens 1T --price 98.32USD/h
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --gbs 64 --nodes 1..8 --tokens 1T --price 250USD/h
"$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --gbs 64 --nodes 1..8 --tokens 1T --price 1e-5USD/h
"$STEPSIM" schedule search --pp 4 --microbatches 8 --times 0,0,0

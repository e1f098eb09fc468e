"$STEPSIM" schedule write zb-h1 --pp 2 -m 8 -o mine.csv
J="--platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 16 --use-distributed-optimizer --sequence-parallel --json"
"$STEPSIM" run $J --schedule mine.csv | grep -E "iteration_ms|bubble_fraction" > a
"$STEPSIM" run $J --schedule zb-h1 | grep -E "iteration_ms|bubble_fraction" > b
cmp a b && echo same

for engine in native simgrid; do "$STEPSIM" run --platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 16 --sequence-parallel --use-distributed-optimizer --json --engine $engine | grep -v '"engine"' | sed '/"how"/,/]/d' > $engine; done
cmp native simgrid && echo equal to ten digits

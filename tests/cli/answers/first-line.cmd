export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" run --verbose --platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 16 --sequence-parallel --use-distributed-optimizer --engine native --measured 1000ms | head -n 3 | sed 's/[0-9][0-9.]*/N/g; s/+-N/WITHIN N/; s/[+-]N/SIGN N/'

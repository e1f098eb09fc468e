"$STEPSIM" run --platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 16 --sequence-parallel --engine native --measured 1s --tolerance 99% > out

export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" check --platform h100 --nodes 4 --model llama3.1-8b --bf16 --tp 2 --mbs 1 --gbs 256 --seq 8192 --sequence-parallel --use-distributed-optimizer --tflops 250 | grep -v "scale\|slow-link\|straggler\|% of its rate"

# The lane of a stream of exchanges says so, in a picture and in a trace
"$STEPSIM" run --engine native --platform h800 --nodes 1 --model mixtral-8x7b --bf16 --seq 4096 --mbs 1 --gbs 8 --ep 8 --moe-token-dispatcher-type alltoall --level layer --gantt gantt.svg --trace trace.json > answer.txt; grep -oE 'collectives[^<]*ep' gantt.svg; grep -oE 'collectives, stream [0-9]+, ep' trace.json

export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" schedule compare --schedules 1f1b,interleaved:2,zb-h1,zb-v --platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 4 --seq 4096 --mbs 1 --gbs 16 --use-distributed-optimizer --sequence-parallel | cut -c1-24

export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" sweep --platform h800 --nodes 32 --stack megatron-bridge-26.04 --model qwen3-235b-a22b --seq 4096 --mbs 1 --gbs 2048 --ep 8 --pp 8 --vp 3 --tp 4 --vary overlap-moe-expert-parallel-comm=off,on 2>&1 | grep -E '^(off|on) ' | sed 's/  *[0-9].*//'

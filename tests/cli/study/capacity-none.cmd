export STEPSIM_COLUMNS=1000 # whole lines
plan() { "$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --tp 2 --mbs 1 --sequence-parallel --use-distributed-optimizer --gbs 64 --nodes 1,2 --layout given --tokens 100B "$@" > all; echo $?; head -2 all; }
plan --deadline 1d
plan --budget 100

# Experts that tensor parallelism splits, as it does where nobody says: whole they are fewer and larger GEMMs
export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" explain --platform h100 --nodes 2 --model qwen3-30b-a3b --bf16 --seq 4096 --mbs 1 --gbs 64 --tp 2 --sequence-parallel --ep 4 --use-distributed-optimizer --moe-grouped-gemm --moe-token-dispatcher-type alltoall --stack megatron-bridge-26.04 | sed -n '/^What helps/,/^  Together/p'

# What nobody said stands under every table, too; a recipe of each row is said to be one
export STEPSIM_COLUMNS=1000 # whole lines
job="--platform h100 --nodes 1 --model llama3-8b --seq 4096 --gbs 64"
told() { grep -A2 -E 'assumed[, ]' | head -n 3; }
"$STEPSIM" search $job --bf16 --unconfirmed --mbs 1 --tp 2 | grep -c assumed
"$STEPSIM" search $job --unconfirmed --mbs 1 --tp 2 | told
"$STEPSIM" capacity $job --tokens 1B --layout given --mbs 1 --fsdp full | told
"$STEPSIM" sweep $job --mbs 1 --vary tp=1,2 | told
"$STEPSIM" sweep $job --mbs 1 --stack megatron-bridge-26.04 --vary precision=bf16,fp8 | told

# what was assumed: time and memory without what matters most, wider bands, other stacks; told all, nothing of this
export STEPSIM_COLUMNS=1000 # whole lines
job="--model qwen3-30b-a3b --platform gb200 --nodes 8 --engine native"
"$STEPSIM" run --verbose $job --stack megatron-bridge-26.04 | sed -n '1p; /^time/,/may cost/p; /^Without/,/^$/p'
"$STEPSIM" run $job --stack megatron-bridge-26.04 --json | grep -A 8 '"without"' | head -20
"$STEPSIM" run $job --stack megatron-bridge-26.04 --json | grep -A 4 '"refused"' | head -5
layout="--tp 1 --ep 8 --seq 4096 --mbs 4 --gbs 256 --bf16 --use-distributed-optimizer"
"$STEPSIM" run --verbose $job $layout | sed -n '1p; /^time/,/^$/p'
"$STEPSIM" run $job $layout --json | sed -n '/"assumed_stack"/,/others/p'
"$STEPSIM" run --verbose $job $layout --stack megatron-bridge-26.04 --recipe none | sed -n '1p; /^time/,/^ /p; /ssumed/p'
"$STEPSIM" run $job $layout --stack megatron-bridge-26.04 --recipe none --json | grep -c 'without\|assumed_stack'
"$STEPSIM" run --verbose $job --stack megatron-bridge-26.04 --report page.html > /dev/null && sed -n '/>Assumed</,/<h2/p' page.html | grep -c 'without: \|; with --precision mxfp8: '

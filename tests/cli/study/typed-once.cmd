# One typed job has one time, whatever command it is given to: bf16 where no precision is typed, and no recipe of a layout that is searched
job="--platform h100 --model llama3-8b --nodes 1 --seq 4096 --mbs 1 --gbs 64 --use-distributed-optimizer"
layout="--tp 1 --pp 1 --cp 1 --recompute none"
for stack in megatron-2407 megatron-bridge-26.04; do
    {
        "$STEPSIM" run $job $layout --tp 2 --sequence-parallel --stack $stack --recipe none --engine native --json | grep -m1 '"iteration_ms"'
        "$STEPSIM" sweep $job $layout --vary tp=2 --sequence-parallel --stack $stack --recipe none --json | grep -m1 '"iteration_ms"'
        "$STEPSIM" search $job --vary tp=2 --pp 1 --cp 1 --vp 1 --recompute none --stack $stack --recipe none --unconfirmed --json | grep -m1 '"iteration_ms"'
        "$STEPSIM" capacity $job $layout --tp 2 --sequence-parallel --stack $stack --recipe none --tokens 1T --layout given --json | grep -m1 '"iteration_ms"'
    } | tr -d ' ,' | sort | uniq -c | wc -l
done
found="$job --vp 1 --recompute none --stack megatron-bridge-26.04"
for words in "$found" "$found $("$STEPSIM" search $found --pp 1 --cp 1 --unconfirmed --json 2>/dev/null | sed -n 's/.*"flags": "\(--.*\)".*/\1/p' | head -1)"; do
    "$STEPSIM" run $words --cp 1 --json 2>/dev/null | grep -m1 '"iteration_ms"'
done
"$STEPSIM" search $found --pp 1 --cp 1 --unconfirmed --json 2>/dev/null | grep -m1 '"iteration_ms"'
"$STEPSIM" search $job --vary tp=2 --stack megatron-bridge-26.04 --recipe auto
"$STEPSIM" sweep $job --vary bf16=on,off
"$STEPSIM" run --model deepseek-v3 --platform gb300 --nodes 63 --stack megatron-bridge-26.04

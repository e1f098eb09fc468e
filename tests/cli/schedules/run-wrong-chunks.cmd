"$STEPSIM" schedule write zb-v --pp 2 -m 8 -o mine.sched
for vp in 4 2 1; do "$STEPSIM" run --platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 16 --schedule mine.sched --vp $vp --brief; echo $?; done

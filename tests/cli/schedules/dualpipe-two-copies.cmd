J="--platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 2 --pp 4 --seq 4096 --mbs 1 --gbs 32 --use-distributed-optimizer --sequence-parallel --overlap-grad-reduce --overlap-param-gather"
"$STEPSIM" program write $J --schedule dualpipe -o a.prog && "$STEPSIM" program check a.prog
for e in native simgrid; do "$STEPSIM" run $J --schedule dualpipe --engine $e --json | grep -E '"iteration_ms"' > $e; done
cmp native simgrid && echo engines agree

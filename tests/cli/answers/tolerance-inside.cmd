"$STEPSIM" run --platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 16 --sequence-parallel --use-distributed-optimizer --engine native --json > out
ms=$(sed -n 's/.*"iteration_ms": \([0-9.]*\),/\1/p' out)
"$STEPSIM" run --platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 16 --sequence-parallel --use-distributed-optimizer --engine native --measured "${ms}ms" --tolerance 0.001 > out; echo "exit $?"

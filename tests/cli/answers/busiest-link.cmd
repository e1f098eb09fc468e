for level in chunk layer; do
    "$STEPSIM" run --verbose --platform h100 --nodes 2 --model qwen3-30b-a3b --bf16 --seq 4096 --mbs 1 --gbs 32 --ep 16 --use-distributed-optimizer --engine native --level $level | sed -n '/^Busiest/,/^$/p'
done

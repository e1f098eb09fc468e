"$STEPSIM" run --platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 16 --sequence-parallel --use-distributed-optimizer --engine native --json | awk '
    /"iteration_ms"/ { total = $2 + 0 }
    /"breakdown_ms"/ { inside = 1; next }
    inside && /}/ { exit }
    inside { sum += $2 }
    END { d = (sum - total) / total; print (d < 1e-9 && d > -1e-9 ? "the labels sum to the iteration" : sum " is not " total) }'

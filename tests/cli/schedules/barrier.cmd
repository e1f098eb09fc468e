J="--platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 4 --seq 4096 --mbs 1 --gbs 16 --use-distributed-optimizer --sequence-parallel --spread 0 --json"
for s in 1f1b zb-h2 zb-v; do
    for b in 1 0; do "$STEPSIM" run $J --schedule $s --set ss.optimizer.barrier=$b --engine native > $b; done
    awk -v s=$s '$1 == "\"iteration_ms\":" { t[n++] = $2 + 0 } END { print s, t[1] < t[0] - 1 ? "gains" : "does not gain" }' 1 0
done

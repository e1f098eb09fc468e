for i in 1 2; do
    "$STEPSIM" run --platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 16 \
        --use-distributed-optimizer --gantt $i.svg --memory m$i.svg --trace $i.json.gz --report $i.html > $i.txt || exit
done
cmp 1.svg 2.svg && cmp m1.svg m2.svg && cmp 1.json.gz 2.json.gz && cmp 1.html 2.html && cmp 1.txt 2.txt && echo same

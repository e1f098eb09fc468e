# A legend of ten keys is inside the picture, beside the head of the column at the right: the x of both
"$STEPSIM" run --engine native --level layer --platform h100 --nodes 4 --model qwen3-30b-a3b --num-layers 8 --bf16 --seq 4096 --mbs 1 --gbs 64 --pp 2 --vp 2 --ep 8 --use-distributed-optimizer --moe-token-dispatcher-type flex --overlap-moe-expert-parallel-comm --gantt g.svg --brief
grep -o '<svg [^>]*width="[0-9]*"' g.svg | grep -o 'width.*'; grep -oE 'x="[0-9.]+" y="[0-9.]+" class="small[^>]*>(idle|busy)' g.svg

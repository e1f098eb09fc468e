# No address but the names of namespaces, no file beside it.
"$STEPSIM" run --verbose --platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 16 \
    --use-distributed-optimizer --report r.html > answer.txt || exit
grep -o 'https\?://[a-zA-Z0-9./]*' r.html | sort -u
! grep -oE '<(iframe|object|embed)|src=.[^d]...|@import' r.html

printf "%s\n" "--platform h800 --nodes 1 --model llama3.1-8b # a comment" "--bf16 --tp 2" "--seq 4096 --mbs 1 --gbs 16" > my.args
"$STEPSIM" plan --job my.args --tp 4 | sed -n 2p

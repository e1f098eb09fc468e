printf 'length,count\n500,3\n0,1\n' > l.csv; "$STEPSIM" run --platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 8192 --mbs 1 --gbs 64 --packed-lengths l.csv

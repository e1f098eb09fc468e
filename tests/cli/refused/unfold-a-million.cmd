"$STEPSIM" run --platform h100 --nodes 131072 --model llama3.1-70b --bf16 --seq 8192 --gbs 524288 --mbs 1 --tp 8 --pp 8 --vp 10 --unfold --brief

"$STEPSIM" run --platform h800 --nodes 1 --model ./none.json --bf16 --gbs 8 --seq 1024

"$STEPSIM" run --platform h800 --nodes 1 --bf16 --gbs 8 --seq 1024

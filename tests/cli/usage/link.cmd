W="--nodes 1 --model llama3.1-8b --mbs 1 --gbs 8 --seq 4096 --bf16 --link"; "$STEPSIM" run --platform h800 $W --engine native; "$STEPSIM" run --platform "$SRC"/platforms/h800.xml $W

export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" run --verbose --platform h800 --nodes 1 --model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 8 --tp 8 --engine native --lr 1e-4 --min-lr 1e-5 --log-interval 1 --save ckpt --lr 2e-4 --log-params-norm-per-param | sed -n '/^Warnings/,/^native/p'

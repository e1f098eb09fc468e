for words in "--platform h100 --precision nvfp4" "--platform h100 --bf16 --fp4-format e2m1 --fp4-recipe nvfp4" "--platform h200 --bf16 --fp8-format e4m3 --fp8-recipe mxfp8"; do
    "$STEPSIM" run $words --nodes 1 --model llama3.1-8b --tp 8 --mbs 1 --gbs 8 --seq 8192
done

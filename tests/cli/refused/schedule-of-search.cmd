J="--platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 4 --gbs 8 --schedule gpipe"; for v in search compare; do "$STEPSIM" schedule $v $J; echo $?; done

# A platform's name says no number of nodes, its file does; --gpus is enough
job="--model llama3.1-8b --bf16 --tp 8 --mbs 1 --gbs 4 --seq 4096"
for words in run search "sweep --vary tp=4,8"; do "$STEPSIM" $words --platform h800 $job | head -n 4; done; "$STEPSIM" run --platform "$SRC/platforms/h800.xml" $job --brief | head -n 1; "$STEPSIM" run --platform h800 --gpus 8 $job --brief | head -n 1

export STEPSIM_COLUMNS=1000 # whole lines
job="--model llama3.1-70b --bf16 --seq 8192 --gbs 1024 --mbs 1 --sequence-parallel --use-distributed-optimizer --layout given --tokens 1T"
"$STEPSIM" capacity --platform h800 $job --tp 2 --pp 8 --nodes 8,16 --deadline 300d | head -1
"$STEPSIM" capacity --platform h800 $job --tp 4 --pp 8 --vp 5 --nodes 16,32,64 --deadline 105d | cut -d: -f1 | sed -n 1,3p
"$STEPSIM" capacity --platform h800 $job --tp 4 --pp 8 --vp 5 --nodes 32,64 --deadline 30d | grep -c 'knee, the answer'
"$STEPSIM" capacity --platform gb200 $job --tp 2 --pp 4 --nodes 10..40 --deadline 60d | cut -d: -f1 | head -1
"$STEPSIM" capacity --platform gb200 $job --tp 2 --pp 4 --nodes 18,19 | grep '  19 '
"$STEPSIM" capacity --platform gb200 $job --tp 2 --pp 4 --nodes 18 --price 0USD/h; echo $?

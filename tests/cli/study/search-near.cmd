export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" search --platform h800 --nodes 16 --model llama3.1-70b --bf16 --seq 8192 --gbs 1024 --mbs 1 --tp 4 --pp 8 --vp 5 --use-distributed-optimizer --recompute none --sequence-parallel --vary cp=1,2,4 --top 1 --unconfirmed | sed -n 4,6p
"$STEPSIM" search --platform b200 --vary precision=bf16,mxfp8 --vary nodes=1,2 --model llama3.1-8b --seq 4096 --gbs 32 --tp 1 --cp 1 --pp 1 --mbs 1 --recompute none --fsdp full --unconfirmed --csv x.csv | sed '1,2d;/^refused/,$d'; cut -d, -f1,2 x.csv
"$STEPSIM" search --platform h800 --nodes 1,2 --model llama3.1-8b

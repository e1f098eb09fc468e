export STEPSIM_COLUMNS=1000 # whole lines
for more in '--gpus 16' '--gpus 4' '--gpus 16 --nodes 1' '--gpus 12' '--gpus 72 --vary platform=h100,gb200'; do "$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 144 --fsdp full --layout given --tokens 100B --json $more 2>&1 | grep -E '"(nodes|gpus)"|error' | tr -d '\n '; echo; done

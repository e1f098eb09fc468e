export STEPSIM_COLUMNS=1000 # whole lines
for more in '--fsdp full' '--fsdp full --recompute full' '--tp 2 --sequence-parallel --recompute selective'; do "$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 64 --nodes 1 --layout given --tokens 100B $more | sed -n 's/.* \(tp .*[a-z0-9]\)  *64 .*/\1/p'; done

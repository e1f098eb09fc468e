export STEPSIM_COLUMNS=1000 # whole lines
for t in 1.4s 5.4s; do "$STEPSIM" explain --platform h100 --nodes 1 --model llama3-8b --seq 8192 --mbs 1 --gbs 8 --bf16 --tp 8 --measured $t | sed -n '1p;4p'; done; "$STEPSIM" explain --platform h100 --nodes 1 --model llama3-8b --seq 8192 --mbs 1 --gbs 8 --bf16 --tp 8 --measured 5.4s --json | grep 'measured_ms\|within_band'

export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" run --verbose --platform h100 --nodes 64 --job "$SRC/tests/import/torchtitan/llama3_70b_2024.toml" | sed -n '4,6p; /^Warnings/,/^$/p'

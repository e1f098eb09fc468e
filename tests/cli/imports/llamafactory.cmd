export STEPSIM_COLUMNS=1000 # whole lines
cp "$SRC"/tests/import/llamafactory/* .
"$STEPSIM" run --verbose --platform h100 --nodes 1 --job qwen3_full_sft.yaml | sed -n '4,6p; /^Warnings/,/^$/p'

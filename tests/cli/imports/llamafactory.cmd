cp "$SRC"/tests/import/llamafactory/* .
"$STEPSIM" run --platform h100 --nodes 1 --job qwen3_full_sft.yaml | sed -n '2,4p; /^Warnings/,/^$/p'

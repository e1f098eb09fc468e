"$STEPSIM" run --platform h100 --nodes 64 --job "$SRC/tests/import/torchtitan/llama3_70b_2024.toml" | sed -n '2,4p; /^Warnings/,/^$/p'

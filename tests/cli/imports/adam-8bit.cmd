cp "$SRC"/tests/import/llamafactory/*3_full_sft.yaml "$SRC"/tests/import/llamafactory/*.json .
mv qwen3_full_sft.yaml sft.yaml
printf 'optim: adamw_bnb_8bit\n' | cat sft.yaml - > bits.yaml
"$STEPSIM" import --job bits.yaml | grep -e exp-avg -e bits,
printf 'vision_tower: clip\n' | cat sft.yaml - > vision.yaml
"$STEPSIM" import --job vision.yaml

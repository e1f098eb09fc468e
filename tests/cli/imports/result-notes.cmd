printf 'model_name_or_path: Qwen/Qwen3-4B\nstage: sft\nfinetuning_type: full\ndataset: identity\nbf16: true\n' > job.yaml
"$STEPSIM" run --job job.yaml --platform h100 --nodes 1 --gbs 64 --json > first.json
"$STEPSIM" run --job first.json --json > again.json
grep -c LLaMA-Factory again.json
cmp first.json again.json && echo the same
sed 's/"notes": \[/"notes": 3, "x": [/' first.json > bad.json
"$STEPSIM" run --job bad.json

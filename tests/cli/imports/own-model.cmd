printf 'model_name_or_path: mine/Own-5B\nstage: sft\nfinetuning_type: full\nbf16: true\n' > own.yaml
"$STEPSIM" run --platform h100 --nodes 1 --job own.yaml 2>&1 | cut -c1-52

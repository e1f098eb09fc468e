cp -r "$SRC"/tests/import/neox/* .
"$STEPSIM" run --platform a100 --job run.txt | sed -n '2,4p; /^Warnings/,/^$/p'
"$STEPSIM" run --platform a100 --job configs/model.yml
"$STEPSIM" run --platform a100 --job configs/model.yml --nodes 1 | sed -n '2,4p'

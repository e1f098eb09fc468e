export STEPSIM_COLUMNS=1000 # whole lines
cp -r "$SRC"/tests/import/neox/* .
"$STEPSIM" run --verbose --platform a100 --job run.txt | sed -n '4,6p; /^Warnings/,/^$/p'
"$STEPSIM" run --verbose --platform a100 --job configs/model.yml
"$STEPSIM" run --verbose --platform a100 --job configs/model.yml --nodes 1 | sed -n '4,6p'

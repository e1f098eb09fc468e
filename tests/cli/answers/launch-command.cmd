export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" run --verbose --job "$SRC/docs/guide/examples/launch.txt" --platform h800 --engine native | sed -n "4,6p"

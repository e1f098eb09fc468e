"$STEPSIM" run --job "$SRC/docs/guide/examples/launch.txt" --platform h800 --engine native | sed -n "2,4p"

STEPSIM="$STEPSIM" sh "$SRC/validation/one-node.sh" 2>&1 | sed 's/OUT.*//'
STEPSIM="$STEPSIM" sh "$SRC/validation/one-node.sh" h100 mine.xml "$SRC/validation/microbench.csv" > fit; echo $?; tail -1 fit
"$STEPSIM" run --platform mine.xml --nodes 64 --job 70b-14 --engine native --brief | sed 's/[0-9][0-9.]*/N/g'

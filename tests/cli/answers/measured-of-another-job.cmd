export STEPSIM_COLUMNS=1000 # whole lines
for flags in "--nodes 8" "--nodes 16" "--nodes 16 --measured 50s"; do "$STEPSIM" run --verbose --job 70b-14 $flags --engine native | sed -n "s/.* an iteration\( (measured [0-9.]* s\)*.*/$flags:\1/p; /measurement/,/job/p"; done; "$STEPSIM" run --verbose --job 70b-14 --nodes 16 --tolerance 5

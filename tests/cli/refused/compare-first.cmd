export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" compare "$SRC/workloads/jobs/8b-16.args" --tp 3 --with "--tp 2"; "$STEPSIM" compare "$SRC/workloads/jobs/8b-16.args" --with "--tp 3" | sed -n 4,5p; "$STEPSIM" compare "$SRC/workloads/jobs/8b-16.args" --with "--tp 3" > /dev/null

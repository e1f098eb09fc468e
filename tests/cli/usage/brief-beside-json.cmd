"$STEPSIM" run --job "$SRC/workloads/jobs/8b-16.args" --brief --json

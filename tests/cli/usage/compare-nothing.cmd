"$STEPSIM" compare "$SRC/workloads/jobs/8b-16.args"

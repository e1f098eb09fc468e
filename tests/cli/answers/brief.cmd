for job in 8b-16 70b-03; do "$STEPSIM" run --job "$SRC/workloads/jobs/$job.args" --brief; echo "exit $?"; done

"$STEPSIM" run --job "$SRC/workloads/jobs/70b-03.args" --engine native --json > out; echo "exit $?"
grep -c "\"change\"" out; grep -e verdict -e largest_class out; tail -n 1 out

head -1 "$SRC/validation/runs.csv" > t.csv; "$STEPSIM" validate t.csv

printf 'id,platform\n"x' > mine.csv; "$STEPSIM" validate mine.csv --json

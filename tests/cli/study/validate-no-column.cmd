printf 'id,nodes\nmine,1\n' > mine.csv; "$STEPSIM" validate mine.csv

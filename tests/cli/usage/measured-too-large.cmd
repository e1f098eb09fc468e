"$STEPSIM" run --job 8b-05 --measured 1e300s; "$STEPSIM" run --job 8b-05 --measured-memory 1e20GiB

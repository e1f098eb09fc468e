STEPSIM_DATA=/nonexistent "$STEPSIM" list platforms || echo "exit $?"
mkdir empty && STEPSIM_DATA=empty "$STEPSIM" platform show h800

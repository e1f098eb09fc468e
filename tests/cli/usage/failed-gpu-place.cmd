"$STEPSIM" run --job 70b-14 --failed-gpu 9

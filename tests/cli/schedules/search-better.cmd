"$STEPSIM" schedule search --pp 4 -m 8 --times 1,1.2,0.8 --memory 1,0.6 --cap 5 -o a.csv && "$STEPSIM" schedule check a.csv

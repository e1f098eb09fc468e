printf "0F0,0F1,0B0,0B1\n1F0,1G1,1B0,1B1\n" > bad.csv; "$STEPSIM" schedule check bad.csv

"$STEPSIM" schedule write interleaved --pp 4 --vp 2 -m 8 -o a.csv && tr -s , < a.csv | sed 's/^,//' | cmp - "$SRC/tests/golden/interleaved-p4-v2-m8.csv" && echo same

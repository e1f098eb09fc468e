for n in 1 3; do "$STEPSIM" calibrate --platform h800 --rows runs --prop ss.nvlink.efficiency --workers $n > $n; done; cmp 1 3 && grep '^Numbers' 1

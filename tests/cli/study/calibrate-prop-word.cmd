"$STEPSIM" calibrate --platform h20 --rows runs --prop ss.memory.logged

"$STEPSIM" calibrate --platform h800 --rows runs --prop ss.nic.eficiency=0.5:1

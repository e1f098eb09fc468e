"$STEPSIM" calibrate --platform v100 --rows runs -o no/such/folder.xml > out; ls out no 2>&1 | sed 's/^ls: //'

cp "$SRC/platforms/v100.xml" .; "$STEPSIM" calibrate --platform v100.xml --rows runs --prop ss.gemm.efficiency.fp16 -o v100.xml > out; echo $?; cmp v100.xml "$SRC/platforms/v100.xml"; ls

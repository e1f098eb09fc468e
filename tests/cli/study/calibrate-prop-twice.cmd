"$STEPSIM" calibrate --platform h20 --rows runs --prop ss.gemm.efficiency.bf16=0.4:0.6 --prop ss.gemm.efficiency.bf16=0.6:0.8

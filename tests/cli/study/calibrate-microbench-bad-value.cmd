{ head -1 "$SRC/validation/microbench.csv"; echo 'gemm,H20,M=1024 N=1024 K=1024,1 GPU,bf16,quick,TFLOP/s,me'; } > b.csv; "$STEPSIM" calibrate --platform h20 --microbench b.csv

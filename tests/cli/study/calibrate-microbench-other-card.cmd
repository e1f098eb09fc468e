{ head -1 "$SRC/validation/microbench.csv"; echo 'gemm,H200,M=1024 N=1024 K=1024,1 GPU,bf16,100,TFLOP/s,me'; } > b.csv; "$STEPSIM" calibrate --platform h20 --microbench b.csv

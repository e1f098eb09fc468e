"$STEPSIM" calibrate --platform h100 --microbench "$SRC/validation/microbench.csv" --leave-out model

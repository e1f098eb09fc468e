# Weights of Llama-3.1 8B: 8.03e9 in 16 bit and 6.98e9 of them quantized, in fp8 on H100 by rows and by columns, 2 B; on B200, whose fp8
# GEMMs take any layout, 1 B; in mxfp8 2 x 33/32 B, in nvfp4 2 x 9/16 B: 27.96, 21.46, 28.37 and 22.27 GiB
export STEPSIM_COLUMNS=1000 # whole lines
for job in "h100 fp8" "b200 fp8" "b200 mxfp8" "b200 nvfp4"; do
    "$STEPSIM" plan --platform ${job% *} --nodes 1 --model llama3.1-8b --precision ${job#* } --tp 1 --pp 1 --mbs 1 --gbs 8 --seq 8192 |
        sed -n 's/^stage 0 *\([0-9.]*\) .*/\1/p'
done

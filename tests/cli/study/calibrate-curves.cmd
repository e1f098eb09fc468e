export STEPSIM_COLUMNS=1000 # whole lines
T="$SRC/validation/aic-nccl.csv.gz"
"$STEPSIM" calibrate --microbench "$T" --leave-out half --seed 2 | head -9
"$STEPSIM" calibrate --microbench "$T" --leave-out gpu | head -8
"$STEPSIM" calibrate --microbench "$T" --leave-out half --json | sed -n 's/^ *"\(leave_out\|seed\|rows_unread\)": \(.*\)/\1 \2/p'
"$STEPSIM" calibrate --microbench "$T" --leave-out model; echo $?
"$STEPSIM" calibrate --microbench "$T" --leave-out gpu --seed 2; echo $?
"$STEPSIM" calibrate --microbench "$SRC/validation/microbench.csv" --leave-out gpu; echo $?

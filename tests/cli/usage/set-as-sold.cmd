export STEPSIM_COLUMNS=1000 # whole lines
J="--platform h100 --nodes 1 --model llama3.1-8b --bf16 --tp 8 --seq 4096 --mbs 1 --gbs 8"
"$STEPSIM" run --verbose $J --set ss.hbm.size=141GB; echo $?
"$STEPSIM" compare $J --with "--scale hbm.size=2x"; echo $?
"$STEPSIM" sweep $J --vary set=ss.hbm.size=80GB,ss.hbm.size=141GB; echo $?
"$STEPSIM" run --verbose $J --engine native --set ss.device_memory=141GB | head -1
"$STEPSIM" run --verbose $J --set ss.curve.gemm.bf16=0.5; echo $?
"$STEPSIM" run --verbose $J --scale curve.dispatch.rate=2x; echo $?

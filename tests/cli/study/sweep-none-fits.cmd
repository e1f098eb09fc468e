export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" sweep --job 70b-14 --platform h800 --nodes 8 --vary mbs=8,16 --vary use-distributed-optimizer=on | sed 's/[0-9][0-9]*\.[0-9]* *[sm]*/N /g'; "$STEPSIM" sweep --job 70b-14 --platform h800 --nodes 8 --vary mbs=16 > /dev/null; echo $?

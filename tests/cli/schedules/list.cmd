export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" schedule list | head -12

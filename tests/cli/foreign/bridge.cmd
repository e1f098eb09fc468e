export STEPSIM_COLUMNS=1000 # whole lines
$STEPSIM run --verbose --platform h100 --nodes 8 --job $SRC/tests/launch/bridge-llama3-70b-64gpu-h100-bf16.yaml > all; sed -n "4,6p;/hence ignored/p" all

$STEPSIM run --platform h100 --nodes 8 --job $SRC/tests/launch/bridge-llama3-70b-64gpu-h100-bf16.yaml > all; sed -n "2,4p;/hence ignored/p" all

sed 's/^  bf16: true/  bf61: true/' "$SRC"/tests/launch/bridge-llama3-70b-64gpu-h100-bf16.yaml > job.yaml
"$STEPSIM" run --platform h100 --nodes 8 --job job.yaml

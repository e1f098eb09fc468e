sed 's/"silu"/"gelu_tanh"/' "$SRC/workloads/models/llama3.1-8b.json" > m.json; "$STEPSIM" run --platform h800 --nodes 2 --model m.json

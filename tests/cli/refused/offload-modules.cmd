"$STEPSIM" run --platform h800 --nodes 2 --model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 16 --fine-grained-activation-offloading --offload-modules attn_proj

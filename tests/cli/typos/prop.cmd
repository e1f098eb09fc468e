"$STEPSIM" run --platform h800 --nodes 1 --model llama3.1-8b --bf16 --gbs 8 --seq 1024 --set ss.nic.eficiency=0.5

# Gated delta nets beside gated attention: the report names the kernels of scans, and what nobody measured.
export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" run --verbose --platform h800 --nodes 16 --model qwen3-next-80b-a3b --bf16 --pp 4 --vp 3 --ep 8 --seq 4096 --mbs 1 --gbs 1024 --use-distributed-optimizer --moe-grouped-gemm --recompute full | grep -oE '^[0-9.]+ s|^qwen3.*|^tp .*|scans [0-9.]+|.*linear attention.*'

export STEPSIM_COLUMNS=1000 # whole lines
printf '{"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}}\n' > z1.json
printf '{"zero_optimization": {"stage": 1}, "bf16": {"enabled": true},\n "data_types": {"grad_accum_dtype": "fp32"}}\n' > fp32.json
printf '{"zero_optimization": {"stage": 1}, "bf16": {"enabled": true},\n "data_types": {"grad_accum_dtype": "fp16"}}\n' > fp16.json
sed 's/fp16"}/bf16"}/' fp16.json > bf16.json
sed 's/"stage": 1/"stage": 0/' z1.json > z0.json
sed 's/"stage": 1/"stage": 0/' bf16.json > z0bf16.json
for job in z1 bf16 fp32 z0 z0bf16 fp16; do "$STEPSIM" run --verbose --platform h100 --nodes 1 --engine native --model Qwen3-8B --make-vocab-size-divisible-by 1 --seq 4096 --mbs 1 --gbs 8 --recompute full --job $job.json | grep -A1 -E '^Memory|parameters'; done

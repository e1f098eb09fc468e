# words behind a recorded program are its own: stepsim's names are unknown there, data workers have no effect, the command line has ours
export STEPSIM_COLUMNS=1000 # whole lines
job='--num-layers 2 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 8 --bf16 --vocab-size 1024'
for own in '--jitter 0.1' '--without tp' '--model llama3.1-8b' '--nodes 4' '--gpus-per-node 4' '--gbs 16' '--seq 512' '--mbs 2' '--tp 2' '--pp 2' '--schedule gpipe' '--stack x' '--level flow' '--engine native' --json --help --brief; do
    printf 'torchrun --nproc_per_node 8 pretrain_gpt.py %s \\\n %s\n' "$job" "$own" > job.cmd
    "$STEPSIM" run --engine native --brief --platform h100 --job job.cmd
done
printf 'torchrun --nproc_per_node 8 pretrain_gpt.py %s --workers 4\n' "$job" > job.cmd
"$STEPSIM" run --verbose --engine native --platform h100 --job job.cmd --tp 2 | sed -n '3p;/without effect/,/^$/p'
"$STEPSIM" run --engine native --platform h100 --job job.cmd --json > run.json
"$STEPSIM" run --verbose --engine native --platform h100 --job run.json | sed -n '3p;/without effect/,/^$/p'

# flags that cannot be taken: all at once, overridden by the command line, left out by --drop and --drop-unknown, which leave no error band
export STEPSIM_COLUMNS=1000 # whole lines
printf 'torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 1024 --num-attention-heads 16 \\\n --use-mpi --lab-flag 3 4 --muon-scalar-optimizer lion \\\n --ampipe-degree x --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 8 --bf16 --vocab-size 1024 --train-iters\n' > job.cmd
run() {
    "$STEPSIM" run --verbose --engine native --platform h100 --job job.cmd "$@"
}
run
run --drop-unknown --muon-scalar-optimizer adam
run --drop-unknown --drop ampipe-degree --brief
run --drop-unknown --drop ampipe-degree --muon-scalar-optimizer adam | grep -E -A1 '^Left out|left out|has no value|band' | grep -v '^--'
run --drop-unknown --drop ampipe-degree --muon-scalar-optimizer adam --json > run.json
python3 -c 'import json; d = json.load(open("run.json")); print(d["dropped"], d["error_band_pct"], d["error_band_like"])'
"$STEPSIM" run --engine native --platform h100 --job run.json --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["dropped"])'
"$STEPSIM" import --platform h100 --job job.cmd | grep -E 'refused'
"$STEPSIM" import --platform h100 --job job.cmd --drop-unknown --drop ampipe-degree --drop muon-scalar-optimizer > made.args
grep -E 'refused|dropped' made.args
"$STEPSIM" run --engine native --job made.args --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["dropped"], d["error_band_pct"])'
run --drop no-such-flag
"$STEPSIM" explain --platform h100 --job job.cmd --drop-unknown --drop ampipe-degree --drop muon-scalar-optimizer 2>&1 | grep -E 'left out|error'
"$STEPSIM" sweep --platform h100 --job job.cmd --drop-unknown --drop ampipe-degree --drop muon-scalar-optimizer --vary tp=1,2 2>&1 | grep -c -E '^ *[12] '
"$STEPSIM" run --platform h100 --nodes 1 --model llama3-8b --seq 4096 --mbs 1 --gbs 8 --drop-unknown --foo 3 --tp 2 --quux --json | grep -A3 '"dropped"'

# A layout of stages says how many chunks a rank has, so schedules of that many are compared and not refused for a --vp that nobody typed
export STEPSIM_COLUMNS=1000 # whole lines
job="--platform h100 --nodes 1 --seq 4096 --mbs 1 --gbs 32 --pp 2"
for more in "--model llama3.1-8b --tp 2 --pipeline-model-parallel-layout Et*8|t*8|t*8|t*8L" "--position-embedding-type none --hidden-size 2048 --num-attention-heads 16 --ffn-hidden-size 8192 --vocab-size 32000 --hybrid-layer-pattern M-|M*|M-|M*"; do
    "$STEPSIM" schedule compare $job $more --schedules interleaved,looped-bfs,1f1b,interleaved:4 | awk 'NR > 1 && NR < 6 {print $1, $2, /refused/ ? substr($0, index($0, $3)) : "compared"}'
done

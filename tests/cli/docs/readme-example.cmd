# What the README shows is what the program prints; else: sh docs/refresh.sh. Error bands are left out: they move with every
# prediction of validation/.
shown() { # mark, command...: of a run what it prints before its stages
    mark=$1
    shift
    sed -n "/<!-- $mark begin/,/<!-- $mark end/p" "$SRC/README.md" | sed '1,3d' | sed '$d' | sed '$d' > shown
    (cd "$SRC" && "$STEPSIM" "$@") | sed '/^Stage,/,$c ...' > printed
    sed -i 's/ +-[0-9.]* % an/ an/; /^expect /d; /^  (by /d' shown printed
    diff shown printed && [ "$(wc -l < shown)" -gt 5 ]
}
shown experts sweep --job workloads/jobs/qwen3-30b-16.args --vary ep=4,8,16 --vary tp=1,2 --sequence-parallel &&
    shown example run --job workloads/jobs/8b-16.args &&
    shown sweep sweep --job workloads/jobs/70b-14.args --vary nodes=8,16 --vary vp=1,2,5

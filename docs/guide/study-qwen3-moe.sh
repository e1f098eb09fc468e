#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh docs/guide/study-qwen3-moe.sh [PROGRAM] > docs/guide/study-qwen3-moe.md
# Best layout of Qwen3-30B-A3B on 16 H800 and of Qwen3-235B-A22B on 256, and why, from `sweep --csv` and `run --json` alone.
. "$(dirname "$0")/pages.sh"

common="--platform h800 --stack megatron-bridge-26.04 --seq 4096 --mbs 1 --etp 1 --sequence-parallel --use-distributed-optimizer
--overlap-grad-reduce --overlap-param-gather --recipe none --moe-grouped-gemm --moe-permute-fusion --recompute-modules moe_act"
labels="compute ep tp pp dp bubble other"

# part FILE LABEL: s of that label in breakdown_ms; "other" has all that has no column
part() {
    awk -v label="$2" -v known=" $labels " '/"breakdown_ms":/ { inside = 1; next }
        inside && /}/ { exit }
        inside { gsub(/[",:]/, ""); if ($1 == label || (label == "other" && !index(known, " " $1 " "))) sum += $2 }
        END { printf "%.2f", sum / 1000 }' "$dir/$1"
}
# words EP TP PP VP PRECISION DISPATCHER RECOMPUTE OVERLAP: of a job
words() {
    printf -- '--ep %s --tp %s --pp %s --vp %s --precision %s --moe-token-dispatcher-type %s --recompute %s' \
        "$1" "$2" "$3" "$4" "$5" "$6" "$7"
    [ "$8" = off ] || printf ' --overlap-moe-expert-parallel-comm'
}
# predict NAME WORD...: result in $dir/NAME; false where it is refused, which the result says
predict() {
    out=$dir/$1
    shift
    status=0
    # shellcheck disable=SC2086 # lists of words
    "$program" run --engine native $job "$@" --json > "$out" || status=$?
    case $status in 0 | 1) ;; 3) return 1 ;; *) exit "$status" ;; esac
}
# all NAME WORD...: the sweep's rows, without their reasons, in $dir/NAME.csv; its table in $dir/NAME
all() {
    out=$dir/$1
    shift
    # shellcheck disable=SC2086
    STEPSIM_COLUMNS=1000 "$program" sweep $job "$@" --vary ep=$eps --vary tp=1,2,4 --vary pp=$pps --vary vp=$vps --vary precision=bf16,fp8 \
        --vary moe-token-dispatcher-type=alltoall,flex --vary recompute=none,selective,full \
        --vary overlap-moe-expert-parallel-comm=off,on --csv "$out.all" > "$out"
    sed 's/"[^"]*"//g' "$out.all" > "$out.csv"
}
# fitting NAME: rows that fit, the fastest first: the axes, ms, tokens/s/GPU, MiB
fitting() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["verdict"] == "fits" {
            print $1, $2, $3, $4, $5, $6, $7, $8, $at["iteration_ms"], $at["tokens_per_s_per_gpu"], $at["peak_mib"] }' "$dir/$1.csv" |
        sort -s -n -k 9,9
}
count() {
    awk -F, -v verdict="$2" 'NR > 1 && $9 == verdict { n++ } END { print n + 0 }' "$dir/$1.csv"
}
layouts() {
    awk '{ printf "| %s | %s | %s | %s | %s | %s | %s | %s | %.2f | %.0f | %.1f |\n", $1, $2, $3, $4, $5, $6, $7, $8, $9 / 1000, $10, $11 / 1024 }'
}
layout_head="| EP | TP | PP | VP | precision | dispatcher | recompute | overlap | s | tokens/s/GPU | GiB |
|---|---|---|---|---|---|---|---|---|---|---|"

# neighbour NAME WORD...: a row against the winner, $dir/best, with the part that grew most
neighbour() {
    name=$1
    shift
    if ! predict now "$@"; then
        printf '| %s | refused | | | | | | | | | %s |\n' "$name" "$(sed -n 's/^    "message": "\(.*\)",$/\1/p' "$dir/now")"
        return
    fi
    [ "$name" != "**the best**" ] || cp "$dir/now" "$dir/best"
    printf '| %s | %s |' "$name" "$(calc %.2f "$(value now iteration_ms) / 1000")"
    grew=0
    why=
    for label in $labels; do
        now=$(part now "$label")
        printf ' %s |' "$now"
        more=$(calc %.2f "$now - $(part best "$label")")
        [ "$(calc %d "($more > $grew)")" -eq 0 ] || { grew=$more; why="+$more s of $label"; }
    done
    verdict=$(sed -n 's/^  "verdict": "\(.*\)",$/\1/p' "$dir/now")
    [ "$verdict" = fits ] || why=$verdict
    printf ' %s | %s |\n' "$(calc %.1f "$(value now peak_mib) / 1024")" "$why"
}
# neighbours EP TP PP VP PRECISION DISPATCHER RECOMPUTE OVERLAP: the best and all layouts one step away
neighbours() {
    echo "| | s | compute | ep | tp | pp | dp | bubble | other | GiB | against the best |"
    echo "|---|---|---|---|---|---|---|---|---|---|---|"
    # shellcheck disable=SC2046
    {
        neighbour "**the best**" $(words "$@")
        [ "$1" -eq 1 ] || neighbour "EP $(($1 / 2))" $(words $(($1 / 2)) "$2" "$3" "$4" "$5" "$6" "$7" "$8")
        neighbour "EP $(($1 * 2))" $(words $(($1 * 2)) "$2" "$3" "$4" "$5" "$6" "$7" "$8")
        [ "$2" -eq 1 ] || neighbour "TP $(($2 / 2))" $(words "$1" $(($2 / 2)) "$3" "$4" "$5" "$6" "$7" "$8")
        neighbour "TP $(($2 * 2))" $(words "$1" $(($2 * 2)) "$3" "$4" "$5" "$6" "$7" "$8")
        if [ "$3" -eq 1 ]; then
            [ "$1" -eq 1 ] || neighbour "PP 2, VP 2, EP $(($1 / 2))" $(words $(($1 / 2)) "$2" 2 2 "$5" "$6" "$7" "$8")
        else
            neighbour "PP $(($3 / 2))" $(words "$1" "$2" $(($3 / 2)) "$4" "$5" "$6" "$7" "$8")
            neighbour "PP $(($3 * 2))" $(words "$1" "$2" $(($3 * 2)) "$4" "$5" "$6" "$7" "$8")
        fi
        for other in bf16 fp8; do
            [ $other = "$5" ] || neighbour $other $(words "$1" "$2" "$3" "$4" $other "$6" "$7" "$8")
        done
        for other in alltoall flex; do
            [ $other = "$6" ] || neighbour $other $(words "$1" "$2" "$3" "$4" "$5" $other "$7" "$8")
        done
        [ "$6" != flex ] || neighbour "flex, hybridep" $(words "$@") --moe-flex-dispatcher-backend hybridep
        [ "$8" = off ] || neighbour "no overlap of ep" $(words "$1" "$2" "$3" "$4" "$5" "$6" "$7" off)
        neighbour "recompute full, no overlap" $(words "$1" "$2" "$3" "$4" "$5" "$6" full off)
    }
}
loads() {
    echo "| load | s | more | GiB | |"
    echo "|---|---|---|---|---|"
    balanced=
    for load in balanced uniform zipf:0.1 zipf:0.2 zipf:0.3 zipf:0.5; do
        # shellcheck disable=SC2046
        predict now $(words "$@") --moe-load $load --level flow
        now=$(value now iteration_ms)
        balanced=${balanced:-$now}
        printf '| %s | %s | %s %% | %s | %s |\n' "$load" "$(calc %.2f "$now / 1000")" "$(calc %+.1f "100 * ($now / $balanced - 1)")" \
            "$(calc %.1f "$(value now peak_mib) / 1024")" "$(sed -n 's/^  "verdict": "\(.*\)",$/\1/p' "$dir/now")"
    done
}
study() {
    all balanced
    fitting balanced > "$dir/fitting"
    best=$(head -n 1 "$dir/fitting" | cut -d ' ' -f 1-8)
    cat << END

$(($(wc -l < "$dir/balanced.csv") - 1)) layouts: $(count balanced fits) fit, $(count balanced "near limit") are near the limit, $(count balanced "too large") are too large, $(count balanced refused) are refused.

\`\`\`
$(printf 'stepsim sweep %s' "$job --vary ep=$eps --vary tp=1,2,4 --vary pp=$pps --vary vp=$vps --vary precision=bf16,fp8 \
--vary moe-token-dispatcher-type=alltoall,flex --vary recompute=none,selective,full --vary overlap-moe-expert-parallel-comm=off,on" |
        tr -s '\n ' '  ' | fold -s -w 100 | sed -e '$!s/ *$/ \\/' -e '2,$s/^/    /')
\`\`\`

The five fastest that fit, and the fastest of each kind:

$layout_head
END
    head -n 5 "$dir/fitting" | layouts
    echo "| | | | | | | | | | | |"
    for precision in bf16 fp8; do
        for dispatcher in alltoall flex; do
            for overlap in off on; do
                awk -v p=$precision -v d=$dispatcher -v o=$overlap '$5 == p && $6 == d && $8 == o { print; exit }' "$dir/fitting" | layouts
            done
        done
    done
    grep '^faster, but near limit' "$dir/balanced" | sed 's/^faster, but near limit: \(.*\)/\nFaster, but near the limit: `\1`./' || true
    cat << END

### Why it is the best

One step away from it, in s of the busiest stage:

END
    # shellcheck disable=SC2086 # the axes
    neighbours $best
    printf '\n%s\n\n### What a skewed load costs\n\nThe best layout, all as flows (--level flow):\n\n' "$reason"
    # shellcheck disable=SC2086
    loads $best
    all skewed --moe-load zipf:0.3
    fitting skewed > "$dir/fitting"
    cat << END

All layouts under zipf 0.3, $(count skewed fits) of which fit; the five fastest of them:

$layout_head
END
    head -n 5 "$dir/fitting" | layouts
}

cat << 'END'
# Qwen3-30B-A3B on 16 H800, Qwen3-235B-A22B on 256: which EP, TP and PP?

Every layout of a sweep, the best that fits, and why: what its neighbours pay. Made by `sh docs/guide/study-qwen3-moe.sh`; every figure is a prediction, with the
host times and dispatchers of Megatron-Bridge's 26.04 container, sequence 4096, microbatches of 1, expert tensor parallel size 1. GiB: the fullest GPU, of 79.6.
`ep`: tokens on the way to their experts and back that nothing hides; `other`: launches that the GPU waits for, the optimizer, imbalance of stages.
Overlap is `--overlap-moe-expert-parallel-comm`: one microbatch's exchange beside another's compute. Selective recompute is of the experts' activation (`moe_act`).
Runs of these models on H100 are in `validation/foreign.csv`; [validation.md](../design/validation.md) says how far predictions are from them.
END
job="--nodes 2 --model qwen3-30b-a3b --gbs 256 $common"
eps=1,2,4,8,16
pps=1,2,4
vps=1,2
printf '\n## Qwen3-30B-A3B, 16 GPUs, global batch 256\n'
reason="Nothing but its memory asks this model for a pipeline, and it has enough without: no bubble. Experts over both nodes are half as many a GPU, each with twice the
tokens: fewer launches and fuller GEMMs, which outweigh exchanges that are longer than those inside a node. Tensor parallelism shares out attention, a small part of this model, and doubles the microbatches
of a GPU: the GPU waits for launches most of the time. So it does in fp8, whose GEMMs are too small here to pay for their casts. Flex sends a token to a GPU once,
alltoall once for each expert, and the overlap hides most of what there is."
study
job="--nodes 32 --model qwen3-235b-a22b --gbs 2048 --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split $common"
eps=8,16,32,64
pps=1,2,4,8,16
vps=1,3
printf '\n## Qwen3-235B-A22B, 256 GPUs, global batch 2048\n\n94 layers, embedding and loss count as two more (`--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split`).\n'
reason="Memory decides: without tensor parallelism the layout would be a tenth faster and does not fit, and each halving of EP or PP brings the fullest GPU nearer to its limit.
TP 4 halves the tokens of a GEMM once more and doubles the microbatches: launches show. Twice the EP sends more tokens to more nodes than the overlap hides;
twice the PP has the compute of shorter chunks and a longer pipeline to pay for. Virtual stages are what Megatron asks of the overlap with a pipeline."
study
cat << 'END'

What a load costs by placement, by the number of ranks and with a capacity: [experts that are not alike](study-expert-load.md).
END

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh docs/guide/study-70b-8-vs-16.sh [PROGRAM] > docs/guide/study-70b-8-vs-16-nodes.md
# Llama-3.1-70B on 8 against 16 H800 nodes with the same global batch, from `run --json` alone.
. "$(dirname "$0")/pages.sh"

job="--platform h800 --model llama3.1-70b --bf16 --fp8-format hybrid --seq 8192 --mbs 1 --gbs 1024"
job="$job --use-distributed-optimizer --sequence-parallel --tp-comm-overlap --overlap-grad-reduce"
job="$job --overlap-param-gather"
base="--tp 4 --pp 8 --cp 2 --num-layers-per-virtual-pipeline-stage 2"

# predict NAME WORD...: result in $dir/NAME. That a job does not fit (1) is an answer.
predict() {
    name=$1
    shift
    # shellcheck disable=SC2086 # lists of words
    result "$name" run $job "$@" --json
}
# stages FILE: a Markdown row by stage, GiB
stages() {
    awk '/"memory":/ { inside = 1 }
        inside && $1 == "\"stage\":" { sub(/,/, "", $2); stage = $2; row = "" }
        inside && /"(weights|gradients|optimizer|activations|logits|other|total)_mib":/ {
            sub(/,/, "", $2); row = row sprintf(" %.1f |", $2 / 1024)
            if ($1 == "\"total_mib\":") print "| " stage " |" row
        }
        inside && /^  }/ { exit }' "$dir/$1"
}
# one row over both clusters: row NAME FORMAT VALUE8 VALUE16
row() {
    printf '| %s | %s | %s | %s |\n' "$1" "$(calc "$2" "$3")" "$(calc "$2" "$4")" "$(calc %.3f "($4) / ($3)")"
}
# layout NODES WORD...: a row; those that fit are kept for the comparison of the best
layout() {
    nodes=$1
    shift
    predict layout --nodes "$nodes" "$@"
    gib=$(calc %.1f "$(value layout peak_mib) / 1024")
    verdict=$(sed -n 's/^  "verdict": "\(.*\)",$/\1/p' "$dir/layout")
    [ "$verdict" = fits ] || gib="$gib, $verdict"
    [ "$gib" != "${gib%[0-9]}" ] && value layout iteration_ms >> "$dir/best$nodes"
    printf '| %s | `%s` | %s | %s | %s |\n' "$nodes" "$*" "$(calc %.2f "$(value layout iteration_ms) / 1000")" \
        "$(calc %.1f "100 * $(value layout mfu)")" "$gib"
}

predict n8 --nodes 8 $base
predict n16 --nodes 16 $base
t8=$(value n8 iteration_ms)
t16=$(value n16 iteration_ms)

cat << END
# Llama-3.1-70B: 8 or 16 H800 nodes?

The same global batch of 1024 sequences of 8192 tokens, fp8, on 64 and on 128 GPUs, with the same layout (tensor 4, pipeline 8 with 5 chunks of 2
layers, context 2); the second 64 GPUs are a second data-parallel replica. Made by \`sh docs/guide/study-70b-8-vs-16.sh\`; every figure is a
prediction.

\`\`\`
$(printf 'stepsim run --nodes 8 %s %s' "$job" "$base" | fold -s -w 92 | sed -e '$!s/ *$/ \\/' -e '2,$s/^/    /')
\`\`\`

**Doubling the nodes makes an iteration $(calc %.2f "$t8 / $t16") times as fast: an efficiency of $(calc %.1f "50 * $t8 / $t16") %.**
An iteration takes $(calc %.1f "$t8 / 1000") s on 8 nodes and $(calc %.1f "$t16 / 1000") s on 16.

| | 8 nodes | 16 nodes | ratio |
|---|---|---|---|
END
row "iteration, s" %.2f "$t8 / 1000" "$t16 / 1000"
row "tokens/s/GPU" %.0f "$(value n8 tokens_per_s_per_gpu)" "$(value n16 tokens_per_s_per_gpu)"
row "TFLOP/s/GPU" %.1f "$(value n8 tflops_per_gpu)" "$(value n16 tflops_per_gpu)"
row "MFU, %" %.1f "100 * $(value n8 mfu)" "100 * $(value n16 mfu)"
row "bubble, share of the iteration" %.5f "$(value n8 bubble_fraction)" "$(value n16 bubble_fraction)"
row "GPU-hours an iteration" %.3f "64 * $t8 / 3.6e6" "128 * $t16 / 3.6e6"
cat << END

## Where the time goes

Stage $(value n8 critical_stage) of 8, the busiest, in ms and as a share of the iteration.

| | 8 nodes | | 16 nodes | |
|---|---|---|---|---|
END
for label in compute recompute optimizer tp cp ep dp offload pp bubble imbalance other; do
    a=$(part n8 $label)
    b=$(part n16 $label)
    case $a$b in *[1-9]*) ;; *) continue ;; esac
    printf '| %s | %s | %s %% | %s | %s %% |\n' "$label" "$(calc %.1f "$a")" "$(calc %.2f "100 * $a / $t8")" \
        "$(calc %.1f "$b")" "$(calc %.2f "100 * $b / $t16")"
done
cat << END

What is paid once an iteration or once a pipeline (bubble, optimizer, data-parallel traffic that is not hidden, host work) does not
halve when the microbatches of a pipeline do: with $(value n8 microbatches) microbatches it is a small share, with $(value n16 microbatches) about twice as
large a one.

## Memory by stage, GiB of $(calc %.1f "$(value n8 capacity_mib) / 1024")
END
for n in 8 16; do
    printf '\n%s nodes\n\n' "$n"
    echo "| stage | weights | gradients | optimizer | activations | logits | other | total |"
    echo "|---|---|---|---|---|---|---|---|"
    stages "n$n"
done
cat << END

The optimizer's shards halve with the second replica; everything else stays.

## Other layouts

Twice the GPUs allow layouts that would not fit before. s an iteration, MFU in %, GiB on the fullest stage.

| nodes | layout | s | MFU | GiB |
|---|---|---|---|---|
END
for n in 8 16; do
    : > "$dir/best$n"
    layout "$n" $base
    layout "$n" --tp 4 --pp 8 --cp 1 --num-layers-per-virtual-pipeline-stage 2
    layout "$n" --tp 2 --pp 8 --cp 4 --num-layers-per-virtual-pipeline-stage 2
    layout "$n" --tp 8 --pp 8 --cp 1
    layout "$n" --tp 8 --pp 4 --cp 2 --num-layers-per-virtual-pipeline-stage 5
done
best8=$(sort -n "$dir/best8" | head -n 1)
best16=$(sort -n "$dir/best16" | head -n 1)
cat << END

With the best of these that fit, $(calc %.1f "$best8 / 1000") s on 8 nodes and $(calc %.1f "$best16 / 1000") s on 16, doubling makes an iteration
$(calc %.2f "$best8 / $best16") times as fast.
END

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh docs/guide/study-oversubscription.sh [PROGRAM] > docs/guide/study-oversubscription.md
# Llama-3.1-70B on 8, 16 and 32 H800 nodes behind leaves of 4 nodes, from `run --json` alone.
. "$(dirname "$0")/pages.sh"

# predict WORD...: result in $dir/now
predict() {
    result now run --engine native "$@" --json
}
# link KEY: of the first of links[]
link() {
    awk -v key="\"$1\":" '/"links":/ { inside = 1 }
        inside && $1 == key { gsub(/[",]/, "", $2); print $2; exit }' "$dir/now"
}
study() {
    echo "| nodes | uplinks | iteration, s | against 1:1 | pp exposed, ms | dp exposed, ms | the link that limits | alike | used | busy |"
    echo "|---|---|---|---|---|---|---|---|---|---|"
    for nodes in 8 16 32; do
        first=
        for ratio in 1 2 4; do
            predict --job workloads/jobs/70b-14.args --nodes $nodes --global-batch-size "$1" \
                --set ss.nodes_per_leaf=4 --set ss.oversubscription=$ratio
            now=$(value now iteration_ms)
            first=${first:-$now}
            printf '| %s | %s:1 | %s | %s %% | %s | %s | %s | %s | %s %% | %s %% |\n' $nodes $ratio \
                "$(calc %.3f "$now / 1000")" "$(calc %+.2f "100 * ($now / $first - 1)")" "$(calc %.0f "$(part now pp)")" \
                "$(calc %.0f "$(part now dp)")" "$(value now limiting_link)" "$(link alike)" \
                "$(calc %.1f "100 * $(link utilisation)")" "$(calc %.1f "100 * $(link busy)")"
        done
    done
}
small="--platform h800 --nodes 4 --set ss.nodes_per_leaf=2 --model llama3.1-8b --bf16 --tp 8 --pp 2"
small="$small --seq 8192 --mbs 1 --gbs 2 --sequence-parallel"
# shellcheck disable=SC2086 # a list of words
hand() {
    bytes=$(calc %.0f "8192 * 4096 * 2 / 8")
    echo "| uplinks | rate of a send, GB/s | a send, ms | two sends beyond 1:1, ms | predicted iteration, ms | beyond 1:1, ms |"
    echo "|---|---|---|---|---|---|"
    first=
    for ratio in 1 2 4; do
        predict $small --set ss.oversubscription=$ratio
        now=$(value now iteration_ms)
        first=${first:-$now}
        printf '| %s:1 | %s | %s | %s | %s | %s |\n' $ratio "$(calc %.3f "42.5 / $ratio")" \
            "$(calc %.6f "$bytes * $ratio / 42.5e6")" "$(calc %.6f "2 * $bytes * ($ratio - 1) / 42.5e6")" "$now" \
            "$(calc %.6f "$now - $first")"
    done
}

cat << END
# Oversubscribed uplinks: what 2:1 and 4:1 cost a 70B job

The job of run 70b-14 (Llama-3.1-70B, tensor 4, pipeline 8 with 5 chunks, context 2, fp8) on 8, 16 and 32 H800 nodes, four nodes a leaf. At 2:1 the
uplinks of a leaf carry half of what its NICs do, at 4:1 a quarter. Made by \`sh docs/guide/study-oversubscription.sh\`; every figure is a prediction.
"The link that limits" is the one that carries most for its bandwidth, the first of several \`alike\`; \`used\` is what it carries of what it could,
\`busy\` the share of the time in which it carries anything. Exposed: waited for on the busiest stage.

## Global batch 1024
END
echo
study 1024
cat << END

## Global batch 128

With an eighth of the microbatches warm-up, cool-down and the data-parallel traffic weigh more.

END
study 128
cat << END

Replicas of a stage are neighbours (rank order tp-cp-ep-dp-pp), so gradients stay below a leaf and only activations and their gradients cross the
uplinks. On 8 nodes a leaf holds four stages of the one pipeline: one NIC's worth of traffic a rail crosses uplinks that carry two at 2:1 and still
one at 4:1, so nothing changes. On 16 nodes a leaf holds two stages of two pipelines, whose sends need two NICs' worth at once: 4:1 halves them.
On 32 nodes a leaf is one stage of four pipelines, every send crosses, and the share of a send is a half at 2:1 and a quarter at 4:1.
What that adds shows as waiting for pipeline transfers, and only where Megatron cannot hide them: in warm-up and cool-down.

## By hand

The smallest case: Llama-3.1-8B, tensor 8, two pipeline stages, two replicas, one microbatch each, on four nodes with two nodes a leaf.
Stage 0 of both replicas is behind leaf 0, stage 1 behind leaf 1. There are two sends on the critical path, the activation and
its gradient, each of 8192 tokens x 4096 x 2 bytes / 8 (sequence parallel) = 8,388,608 bytes from every GPU. On each rail the sends of both replicas
cross the same uplink at the same time. A NIC gives 50 GB/s x 0.85 = 42.5 GB/s. An uplink at 1:1 carries two NICs' worth, 85 GB/s: no limit. At 2:1
it carries 42.5 GB/s, half for each send; at 4:1 21.25 GB/s. Gradients stay below the leaf.

END
hand
cat << END

The two columns of milliseconds beyond 1:1 agree.
END

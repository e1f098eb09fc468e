#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh docs/guide/study-expert-load.sh [PROGRAM] > docs/guide/study-expert-load.md
# What a skewed load of its experts costs Qwen3-30B-A3B on 16 H800, from `plan --json` and `run --json` alone.
. "$(dirname "$0")/pages.sh"
experts=128
job="--platform h800 --nodes 2 --model qwen3-30b-a3b --bf16 --tp 1 --seq 4096 --mbs 1 --gbs 256 --use-distributed-optimizer
--overlap-grad-reduce --overlap-param-gather --moe-grouped-gemm --moe-permute-fusion --moe-token-dispatcher-type alltoall"

# predict WORD...: the plan's load in $dir/plan, the result in $dir/now
predict() {
    # shellcheck disable=SC2086 # a list of words
    result plan plan $job "$@" --json
    # shellcheck disable=SC2086
    result now run --engine native $job "$@" --json
}
# load KEY FIGURE: of expert_load
load() {
    awk -v key="\"$1\":" -v figure="\"$2\":" '$1 == key { inside = 1 }
        inside && $1 == figure { sub(/,$/, "", $2); print $2; exit }' "$dir/plan"
}
# dealt EXPONENT EP: the loads of zipf in a file, the hottest experts dealt to the ranks there and back
dealt() {
    awk -v s="$1" -v ep="$2" -v n=$experts 'BEGIN {
        print "layer,expert,load"
        for (i = 0; i < n; i++) {
            round = int(i / ep)
            rank = round % 2 ? ep - 1 - i % ep : i % ep
            printf "0,%d,%.12g\n", rank * n / ep + round, exp(-s * log(i + 1))
        }
    }'
}
# row NAME WORD...: a row of the tables; $balanced is the time of the first one
row() {
    name=$1
    shift
    predict "$@"
    now=$(value now iteration_ms)
    balanced=${balanced:-$now}
    printf '| %s | %s | %s | %s | %s %% | %s | %s |\n' "$name" "$(calc %.2f "$(load hottest_rank mean)")" \
        "$(calc %.2f "$(load hottest_expert mean)")" "$(calc %.2f "$now / 1000")" "$(calc %+.1f "100 * ($now / $balanced - 1)")" \
        "$(calc %.1f "$(value now peak_mib) / 1024")" "$(verdict now)"
}
head="| load | hottest rank | hottest expert | iteration, s | against balanced | GiB | |
|---|---|---|---|---|---|---|"

cat << END
# Experts that are not alike: what a zipf load costs Qwen3-30B-A3B

Qwen3-30B-A3B (128 experts, 8 a token) on 16 H800, bf16, sequence 4096, global batch 256. Made by \`sh docs/guide/study-expert-load.sh\`; every figure is a
prediction. Hottest rank and hottest expert: copies of tokens over an even share, mean of the passes. GiB: the fullest GPU. A zipf load of exponent S gives
the i-th expert a load in proportion to i^-S. In order, the hottest experts lie on one rank, the worst placement; *dealt* means that the same experts are dealt to
the ranks by their heat, there and back as in a card game, by a file of loads (\`--moe-load FILE\`).

## Experts over one node: EP 8, two pipeline stages

$head
END
balanced=
group="--pp 2 --ep 8"
# shellcheck disable=SC2086
{
    row balanced $group
    row "uniform draws" $group --moe-load uniform
    for s in 0.1 0.2 0.3 0.5 1; do
        row "zipf $s" $group --moe-load zipf:$s
        dealt $s 8 > "$dir/loads.csv"
        row "zipf $s, dealt" $group --moe-load "$dir/loads.csv"
    done
    row "biased, deviation 0.1" $group --moe-load biased:0.1
    row "biased, deviation 0.5" $group --moe-load biased:0.5
}
cat << END

All ranks of an expert group wait for the hottest one, in the exchange before the experts and in the one behind. So inside a node the experts and the exchange take longer by
the factor of the hottest rank, attention and all else do not. Over nodes what comes to the hottest rank is held up by its own NIC, but what it sends back leaves over all NICs of its node. Activations of the experts grow by it too: the hottest rank runs out of memory before time doubles
(were another rank the hottest in each layer, as in training with loads that no file says, this would be too much: memory takes one rank for all layers).
Random draws of a router without preference cost next to nothing: a rank gets tens of thousands of copies. What costs is which experts lie together:
the same loads dealt to the ranks are nearly balanced until the hottest expert alone is more than a rank's share.

## The same load on more ranks

END
echo "| experts over | stages | zipf 0.3: hottest rank | iteration, s | balanced, s | more | GiB |"
echo "|---|---|---|---|---|---|---|"
for ep in 2 4 8 16; do
    case $ep in 2) pp=8 ;; 4) pp=4 ;; *) pp=2 ;; esac
    [ $ep -lt 16 ] || pp=1
    predict --pp $pp --ep $ep
    now=$(value now iteration_ms)
    predict --pp $pp --ep $ep --moe-load zipf:0.3
    printf '| %s ranks | %s | %s | %s | %s | %s %% | %s |\n' $ep $pp "$(calc %.2f "$(load hottest_rank mean)")" \
        "$(calc %.2f "$(value now iteration_ms) / 1000")" "$(calc %.2f "$now / 1000")" \
        "$(calc %+.1f "100 * ($(value now iteration_ms) / $now - 1)")" "$(calc %.1f "$(value now peak_mib) / 1024")"
done
cat << END

The fewer experts a rank holds, the less they make up for one another.

## A capacity

EP 8, two stages, zipf 0.3 in order. An expert takes at most so many times its even share of each rank's copies (\`--moe-expert-capacity-factor\`); the rest is dropped, and
does not learn.

| capacity | dropped | hottest rank | iteration, s | against dropless | GiB |
|---|---|---|---|---|---|
END
first=
for capacity in none 2 1.5 1.25 1; do
    words=
    [ $capacity = none ] || words="--moe-expert-capacity-factor $capacity"
    # shellcheck disable=SC2086
    predict $group --moe-load zipf:0.3 $words
    now=$(value now iteration_ms)
    first=${first:-$now}
    printf '| %s | %s %% | %s | %s | %s %% | %s |\n' $capacity "$(calc %.1f "100 * $(value plan dropped)")" \
        "$(calc %.2f "$(load hottest_rank mean)")" "$(calc %.2f "$now / 1000")" "$(calc %+.1f "100 * ($now / $first - 1)")" \
        "$(calc %.1f "$(value now peak_mib) / 1024")"
done

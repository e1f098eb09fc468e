#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh validation/microbench.sh
# Holds the shapes of docs/model.md's curves against validation/microbench.csv: flash attention by chunk and head dimension on
# H100 (GEMMs, collectives: stepsim calibrate --microbench). The level of the curve is the card alone on its bench, not a training
# run's.
set -eu
cd "$(dirname "$0")"
awk -F, '
function put(set, error) { if (error < 0) error = -error; v[set, ++n[set]] = error; sum[set] += error; if (error > worst[set]) worst[set] = error }
$1 == "attention" && $2 == "H100 SXM" && $3 ~ /^FA2 fwd d=(64|128) causal seq=/ {
    d = $3; sub(/.*d=/, "", d); sub(/ .*/, "", d); L = $3; sub(/.*seq=/, "", L); sub(/ .*/, "", L)
    put("FA2 forward on H100, half 300 tokens, 16 of the head", 100 * (333 * L / (L + 300) * 8492 / 8192 * d / (d + 16) * 144 / 128 / $6 - 1))
}
END {
    print "| curve | rows | mean error % | median | worst |"
    print "|---|---|---|---|---|"
    m = split("FA2 forward on H100, half 300 tokens, 16 of the head", name, ";")
    for (s = 1; s <= m; s++) {
        set = name[s]
        for (i = 2; i <= n[set]; i++)
            for (j = i; j > 1 && v[set, j] < v[set, j - 1]; j--) { t = v[set, j]; v[set, j] = v[set, j - 1]; v[set, j - 1] = t }
        printf "| %s | %d | %.1f | %.1f | %.1f |\n", set, n[set], sum[set] / n[set], v[set, int((n[set] + 1) / 2)], worst[set]
    }
}' microbench.csv

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh docs/guide/decide.sh [PROGRAM] > docs/guide/decide.md
# Why the 70B job is slow, what helps, which term moves, and what another job on the same fabric costs.
. "$(dirname "$0")/pages.sh"

# shown WORD...: the command as typed and what it prints
shown() {
    result now "$@"
    printf '```\n$ stepsim'
    for word in "$@"; do
        case $word in *[\ \(\|]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    echo
    cat "$dir/now"
    echo '```'
}
advice() { # N: words of the N-th advice of $dir/why
    awk -v n="$1" '/"advice":/ { inside = 1 } /"together":/ { inside = 0 } inside && $1 == "\"change\":" && ++k == n {
        sub(/^[^:]*: "/, ""); sub(/",?$/, ""); print; exit }' "$dir/why"
}
advised() { # N KEY: of it
    awk -v n="$1" -v key="\"$2\":" '/"advice":/ { inside = 1 } /"together":/ { inside = 0 } inside && $1 == "\"change\":" { k++ }
        inside && k == n && $1 == key { gsub(/[",]/, "", $2); print $2; exit }' "$dir/why"
}
job=workloads/jobs/70b-14.args

cat << 'END'
# Why is it slow, what helps, and what moves

Made by `sh docs/guide/decide.sh`; every figure is a prediction. The job is run 70b-14: Llama-3.1-70B in fp8 on 8 H800 nodes, tensor 4, pipeline 8
with 5 chunks a rank, context 2.

## Why it is slow

`explain` holds the time of the busiest stage against an ideal: the FLOP of the model at the card's peak. What is above it has a name each, and the
names sum to the time. Below it says what one per cent more of each rate would bring (two runs each, by `--scale`), and which changes help most. Each
change was run by itself, so its time, memory and verdict are those that `stepsim run` gives with the same words.

END
shown explain --job $job
result why explain --job $job --json
cat << 'END'

Read it from above. The gap between the ideal and the kernels is the largest term: what fp8 GEMMs and flash attention reach on this card. Only another
kernel of attention changes it. The next one is the last stage's logits and loss, for which the other seven stages wait: a better split of the layers takes most of
it away. Communication and bubble are nearly hidden, so faster NICs bring nothing (the elasticities say so too).

## The advice, applied

Each line is a run with the words of the advice:

| change | advised, s | run, s | memory, GiB | verdict |
|---|---|---|---|---|
END
for n in 1 2 3 4 5; do
    words=$(advice $n)
    [ -n "$words" ] || continue
    # shellcheck disable=SC2086 # a list of words
    result run run --engine native --job $job $words --json
    printf '| `%s` | %s | %s | %s | %s |\n' "$(echo "$words" | sed 's/|/\\|/g')" "$(calc %.2f "$(advised $n iteration_ms) / 1000")" \
        "$(calc %.2f "$(value run iteration_ms) / 1000")" "$(calc %.1f "$(advised $n peak_mib) / 1024")" "$(verdict run)"
done
cat << 'END'

## Which term moves

`compare` puts jobs beside each other, term by term; differences sum to the difference of the totals. Here the same job with fewer pipeline stages, and with
NICs twice as fast:

END
shown compare --job $job --with "--pipeline-model-parallel-size 4" --with "--scale nic.bandwidth=2x"
cat << 'END'

Half the stages have half the warm-up and a last stage whose loss weighs less against twice the layers. NICs twice as fast move nothing that counts.

## Another job on the same fabric

`share` replays several jobs on one cluster at the same time. Two Llama-3.1-8B jobs (tensor 8, two replicas) on four nodes, two a leaf, behind uplinks of a
quarter of the NICs' rate: on leaves of their own, and with one node of each job behind each leaf.

END
printf '%s\n' '--platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 8 --mbs 1 --gbs 16 --seq 4096' \
    '--sequence-parallel --use-distributed-optimizer' > "$dir/8b.args"
echo '```'
echo '$ cat > 8b.args <<END'
cat "$dir/8b.args"
echo END
echo '```'
share() { # NODES NODES WORD...
    first=$1 second=$2
    shift 2
    printf '```\n$ stepsim share 8b.args@%s 8b.args@%s --set ss.nodes_per_leaf=2 --set ss.oversubscription=4%s\n' "$first" "$second" "${*:+ $*}"
    (cd "$dir" && "$program" share "8b.args@$first" "8b.args@$second" --set ss.nodes_per_leaf=2 --set ss.oversubscription=4 "$@")
    echo '```'
}
share 0-1 2-3
share 0,2 1,3
share 0,2 1,3 --starts 1
cat << 'END'

By hand, of the last: in an iteration a rank sends half of its gradients (4 bytes) and half of its parameters (2 bytes) to the other replica. Where both jobs
begin at once, both want the same uplinks at the same moment and get half of them: each iteration takes longer by what these bytes take on the uplink alone.
END
"$program" run --job "$dir/8b.args" --json --engine native > "$dir/one"
per_rank=$(calc %.0f "$(value one parameters) / 8")
cat << END
A rank has $(calc %.4f "$per_rank / 1e9") billion parameters, so that is 3 bytes of each, or $(calc %.1f "3 * $per_rank / 21.25e6") ms at 21.25 GB/s. When they begin at other
times they mostly miss each other. Neither is what will happen: jobs drift, and the mean of several starts is the fairer guess.

Limits: every rank is simulated, so thousands of GPUs take long; no two jobs share a node; each job's own iterations are alike (no jitter), so that two equal
jobs never drift apart from the start that they were given.
END

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh docs/guide/schedules.sh [PROGRAM] > section of docs/guide/schedules.md
# Llama-3.1-70B on 8 H800 nodes under several schedules, from the program's own answers.
. "$(dirname "$0")/pages.sh"
job="--platform h800 --nodes 8 --model llama3.1-70b --bf16 --tp 4 --pp 8 --seq 8192 --mbs 1 --gbs 32"
job="$job --use-distributed-optimizer --sequence-parallel --overlap-grad-reduce --overlap-param-gather"
names="1f1b,interleaved:2,zb-h1,zb-h2,zb-interleaved:2,zb-v,v-half,v-min,1f1b-v,dualpipe,dualpipev,docs/guide/examples/late-split.sched"

# shellcheck disable=SC2086 # a list of words
search() { "$program" schedule search $job "$@" > "$dir/answer"; }
# rows OPTION...: one row a schedule: name, seconds, bubble %, imbalance %, exposed ms, GiB of activations, GiB in all, verdict
# shellcheck disable=SC2086
rows() {
    "$program" schedule compare $job "$@" --json | awk '
        function text(s) { gsub(/[",]/, "", s); return s }
        $1 == "\"schedule\":" { name = text($2); most = 0; inside = 0 }
        $1 == "\"iteration_ms\":" { ms = text($2) }
        $1 == "\"bubble_fraction\":" { bubble = text($2) }
        $1 == "\"imbalance_fraction\":" { imbalance = text($2) }
        $1 == "\"exposed_communication_ms\":" { exposed = text($2) }
        $1 == "\"activations_mib\":" { inside = 1; next }
        inside && text($1) + 0 > most { most = text($1) + 0 }
        $1 == "\"verdict\":" { verdict = $0; gsub(/.*: "|",?$/, "", verdict); gsub(" ", "_", verdict) }
        $1 == "\"peak_mib\":" { peak = text($2) }
        inside && $1 ~ /^\]/ { printf "%s %.3f %.1f %.1f %.0f %.1f %.1f %s\n", name, ms / 1e3, 100 * bubble,
                              100 * imbalance, exposed, most / 1024, peak / 1024, verdict; inside = 0 }'
}

search -o "$dir/found.csv"
search --v -o "$dir/found-v.csv"
names="$names,$dir/found.csv,$dir/found-v.csv"
rows --schedules "$names" > "$dir/with"
rows --schedules "$names" --set ss.optimizer.barrier=0 > "$dir/without"

# Iteration, bubble and activations of every known schedule, by its integers.
integers() {
    "$program" schedule compare --pp 8 --microbatches 32 | awk '
        $1 == "schedule" { next }
        !NF { exit }
        { printf "| %s | %s | %s | %s %% | %s | %s |\n", $1, $2, $3, $4, $6, $7 }'
}

cat <<EOF
## Side by side

Eight ranks, 32 microbatches, F = I = W = 1 of a whole stage, communication free, with a barrier: \`stepsim schedule compare --pp 8
--microbatches 32\`. The work of a rank is 96. Activations: of the rank with most, in microbatches of a whole stage.

| schedule | chunks | iteration | bubble | bubble inside a rank | activations |
|---|---|---|---|---|---|
EOF
integers
cat <<EOF

## On a cluster

Llama-3.1-70B on 8 nodes of H800 (64 GPUs of 80 GB): tp 4, pp 8, dp 2, 16 microbatches of one sequence of 8192, bf16, nothing
recomputed. \`late-split\` is written by hand ([examples/late-split.sched](examples/late-split.sched)); \`found\` and \`found-v\` come from
\`stepsim schedule search\` with this job (\`--v\`: two chunks on a V), the cap being what the card leaves. The last column is without
the global barrier. This section is made by docs/guide/schedules.sh.

| schedule | iteration s | bubble % | imbalance % | exposed communication ms | activations GiB | device GiB | verdict | s without barrier |
|---|---|---|---|---|---|---|---|---|
EOF
paste -d ' ' "$dir/with" "$dir/without" | awk '{ gsub("_", " ", $8); printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", $1, $2, $3, $4, $5, $6, $7, $8, $10 }'
cat <<EOF

Activations: the stage with most; bubble and imbalance: idle time of the stage with the most work, by the schedule and beyond. The command:

\`\`\`
stepsim schedule compare --schedules 1f1b,interleaved:2,zb-v,docs/guide/examples/late-split.sched \\
EOF
echo "$job" | fold -s -w 100 | sed 's/^/    /; $!s/ *$/ \\/'
echo '```'

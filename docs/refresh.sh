#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh docs/refresh.sh [PROGRAM]
# Makes the parts of the documents that are output of the program again: run it when predictions change.
set -eu
program=$(realpath "${1:-$(dirname "$0")/../build/stepsim}")
cd "$(dirname "$0")/.."
new=$(mktemp)
trap 'rm -f "$new"' EXIT

sh docs/guide/pictures.sh "$program"
python3 tests/structure.py "$(dirname "$program")" . --svg docs/design/rooms.svg
sh docs/guide/study-70b-8-vs-16.sh "$program" > "$new"
cp "$new" docs/guide/study-70b-8-vs-16-nodes.md
sh docs/guide/study-oversubscription.sh "$program" > "$new"
cp "$new" docs/guide/study-oversubscription.md
sh docs/guide/study-expert-load.sh "$program" > "$new"
cp "$new" docs/guide/study-expert-load.md
sh docs/guide/study-qwen3-moe.sh "$program" > "$new"
cp "$new" docs/guide/study-qwen3-moe.md

sh docs/guide/deepseek-v3.sh "$program" > "$new"
cp "$new" docs/guide/deepseek-v3.md

python3 docs/models.py "$program" > "$new"
cp "$new" docs/reference/models.md

# insert FILE MARK DOCUMENT: FILE between the lines "MARK begin" and "MARK end"
insert() {
    awk -v file="$1" -v mark="<!-- $2 " '
        index($0, mark "end") { skip = 0 }
        !skip { print }
        index($0, mark "begin") { while ((getline line < file) > 0) print line; skip = 1 }' "$3" > "$new"
    cp "$new" "$3"
}
sh tests/consumer/examples.sh "$(dirname "$program")" . --update # docs/reference/api.md
sh docs/guide/schedules.sh "$program" > "$new.part"
insert "$new.part" cluster docs/guide/schedules.md
rm -f "$new.part"

# shown MARK COMMAND...: the command as typed and what it prints (of a run what it says before the stages) into README.md
shown() {
    mark=$1
    shift
    {
        echo '```'
        echo "$ stepsim $*" | fold -s -w 110 | sed '$!s/ *$/ \\/; 2,$s/^/      /'
        "$program" "$@" | sed '/^Stage,/,$c ...'
        echo '```'
    } > "$new.shown"
    insert "$new.shown" "$mark" README.md
    rm -f "$new.shown"
}
shown experts sweep --job workloads/jobs/qwen3-30b-16.args --vary ep=4,8,16 --vary tp=1,2 --sequence-parallel
shown example run --job workloads/jobs/8b-16.args
shown sweep sweep --job workloads/jobs/70b-14.args --vary nodes=8,16 --vary vp=1,2,5

# docs/design/validation.md: tables of all sources, and the first users' jobs.
sh docs/design/validation-tables.sh "$program" > "$new.tables"
job_row() {
    "$program" run --job "workloads/jobs/$1.args" --engine native --json > "$new.json" || true
    awk -v run="$1" '
        { gsub(/[",]/, "") }
        $1 == "iteration_ms:" && !t { t = $2 }
        $1 == "measured_ms:" { m = $2 }
        $1 == "peak_mib:" && !p { p = $2 }
        $1 == "measured_mib:" { q = $2 }
        END { printf "| %s | %.1f ms | %.1f ms | %+.1f %% | %.0f | %.0f | %+.1f %% |\n", run, t, m, 100 * (t / m - 1), p, q, 100 * (p / q - 1) }' "$new.json"
}
{
    echo "| run | predicted | measured | error | memory, MiB | measured | error |"
    echo "|---|---|---|---|---|---|---|"
    for job in 8b-05 8b-10 8b-16 14b-11 70b-14; do job_row $job; done
} > "$new.jobs"
awk -v tables="$new.tables" -v jobs="$new.jobs" '
    /<!-- (tables|jobs) end/ { skip = 0 }
    !skip { print }
    /<!-- tables begin/ { while ((getline line < tables) > 0) print line; skip = 1 }
    /<!-- jobs begin/ { while ((getline line < jobs) > 0) print line; skip = 1 }' docs/design/validation.md > "$new"
rm -f "$new.tables" "$new.jobs" "$new.json"
cp "$new" docs/design/validation.md

# README.md: the errors in eight lines.
source_row() { # table, text, pattern of source lines, first field of the figures (time 4, memory 9)
    "$program" validate "validation/$1.csv" 2> /dev/null | awk -v text="$2" -v pattern="$3" -v at="${4:-4}" '
        /^by / { on = /^by source/ }
        on && $2 == "on" && $at > 0 && ($1 " on " $3) ~ pattern { n += $at; sum += $at * $(at + 1); if ($(at + 3) > worst) worst = $(at + 3) }
        END { printf "| %s | %d | %.1f %% | %.1f %% |\n", text, n, sum / n, worst }'
}
# experts, text, column of the error: dense rows (0) or mixtures (1) of foreign.csv, quality A and B
foreign_row() {
    awk -F, -v mixture="$1" -v text="$2" -v column="$3" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["quality"] ~ /^[AB]$/ && ($at["experts"] > 1) == mixture && $at[column] != "" {
            e = $at[column]; e = e < 0 ? -e : e; n++; sum += e; if (e > worst) worst = e
        }
        END { printf "| %s | %d | %.1f %% | %.1f %% |\n", text, n, sum / n, worst }' "$new.foreign"
}
"$program" validate validation/foreign.csv --csv "$new.foreign" > /dev/null 2>&1
{
    echo "| runs | n | mean error of the time | worst |"
    echo "|---|---|---|---|"
    source_row runs "H800, three numbers fitted on them" "on h800$"
    awk -F'[|]' '/^\| all / { printf "| the same, each model predicted by the fit of the others |%s|%s%% |%s%% |\n", $3, $4, $6 }' docs/design/validation.md
    source_row runs "H20 (NeMo) and V100 of the same users" "on (h20|v100)$"
    foreign_row 0 "H100 and A100, published by others, nothing fitted on them" error_pct
    foreign_row 1 "mixtures of experts on H100 (Grok, Qwen3, GPT-OSS, DeepSeek-V3, Moonlight), likewise" error_pct
    source_row vtrain "A100, 64 to 512 GPUs (vTrain), nothing fitted on them" "^vt-m"
    source_row vtrain "A100, small models on one node (vTrain), nothing fitted on them" "^vt-s"
    echo
    echo "| runs | n | mean error of the memory | worst |"
    echo "|---|---|---|---|"
    source_row runs "H800, two numbers fitted on them; the worst three are of another stage or layout than told (docs/design/validation.md)" "on h800$" 9
    foreign_row 0 "H100, H200 and A100, published by others, nothing fitted on them" memory_error_pct
    foreign_row 1 "mixtures of experts on H100, likewise" memory_error_pct
} > "$new.errors"
awk -v file="$new.errors" '
    /<!-- errors end/ { skip = 0 }
    !skip { print }
    /<!-- errors begin/ { while ((getline line < file) > 0) print line; skip = 1 }' README.md > "$new"
rm -f "$new.errors" "$new.foreign"
cp "$new" README.md

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh docs/design/validation-tables.sh [PROGRAM]
# Prints the tables of docs/design/validation.md from the program's own predictions of validation/*.csv.
set -eu
program=$(realpath "${1:-$(dirname "$0")/../../build/stepsim}")
cd "$(dirname "$0")/../.."
STEPSIM_COLUMNS=1000 # rows as lines, for awk
export STEPSIM_COLUMNS
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

echo "### Timers of the V100 runs, ms"
echo
echo "| timer of the last rank | gpt2-01 measured | predicted | error % | gpt2-02 measured | predicted | error % |"
echo "|---|---|---|---|---|---|---|"
"$program" validate runs 2> /dev/null | awk '
    /^Timers/ { on = 1; next }
    on && $1 ~ /^gpt2/ && $4 != "-" && $3 >= 7 {
        if (!($2 in seen)) name[++n] = $2
        seen[$2] = 1
        cell[$1, $2] = $3 " | " $4 " | " $5
    }
    on && / of 1 % / { last = $0 }
    END {
        for (i = 1; i <= n; i++) print "| " name[i] " | " cell["gpt2-01", name[i]] " | " cell["gpt2-02", name[i]] " |"
        sub(/^ */, "", last)
        print "\n" last ". Transfers are shorter; parts of the optimizer and the batch generator are not simulated."
    }'
echo
echo "### Collectives by card and size (docs/reference/model.md, section 5)"
echo
echo "| card | table | rows | n | error % | median | worst | bias |"
echo "|---|---|---|---|---|---|---|---|"
for table in microbench microbench-2; do
    "$program" calibrate --microbench "validation/$table.csv" 2> /dev/null | awk -v table="$table" '
        /^Not priced/ { exit }
        $2 == "collective" && !/DeepEP/ {
            n = NF - 4
            what = $0
            sub(/^[^ ]+ +collective */, "", what)
            sub(/ +[0-9]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[-+0-9.]+$/, "", what)
            print "| " $1 " | " table " | " what " | " $n " | " $(n + 1) " | " $(n + 2) " | " $(n + 3) " | " $(n + 4) " |"
        }'
done
echo
echo "The rows of all cards and both tables together, exchanges between experts apart, and B200's kernels:"
echo
echo "| rows | n | median error % | bias |"
echo "|---|---|---|---|"
for table in microbench microbench-2; do
    "$program" calibrate --microbench "validation/$table.csv" --json 2> /dev/null > "$tmp/$table.json"
done
python3 docs/design/pooled.py "$tmp/microbench.json" "$tmp/microbench-2.json"
echo
echo "### vTrain's rows (A100): nothing fitted, and three numbers fitted on half of the lines"
echo
echo "Fitted: \`ss.gemm.efficiency.fp16\` and, for vt-m, \`ss.nic.efficiency\` and \`ss.hbm.efficiency\`, for vt-s, \`ss.host.operator\` and \`ss.kernel_latency\`, by \`stepsim calibrate --leave-out half\`."
echo
echo "| rows | n | mean error % | median | worst | bias |"
echo "|---|---|---|---|---|---|"
halves() { # rows, two numbers
    { head -n 1 validation/vtrain.csv; grep "^$1" validation/vtrain.csv; } > "$tmp/rows.csv"
    "$program" calibrate --platform a100-hdr800 --rows "$tmp/rows.csv" --stack megatron-deepspeed-2021 --leave-out half \
        --prop ss.gemm.efficiency.fp16=0.5:0.92 --prop "$2" --prop "$3" -o "$tmp/a100.xml" 2> /dev/null |
        awk -v rows="$1" '
            function put(what) { print "| " rows ", " what " | " $NF " | " v("mean") " | " v("median") " | " v("worst") " | " v("bias") " |" }
            function v(word,  i) { for (i = 1; i < NF; i++) if ($i == word) return $(i + 1) }
            $1 == "before" { put("nothing fitted") }
            /^Times predicted by the fit/ { on = 1 }
            on && $2 == "lines" { put($1 " lines by the fit of the " ($1 == "odd" ? "even" : "odd") " ones") }'
}
halves vt-m ss.nic.efficiency=0.3:1 ss.hbm.efficiency=0.6:0.95
halves vt-s ss.host.operator=0us:300us ss.kernel_latency=1us:20us

# runs.csv as its odd rows are read in docs/design/validation.md.
awk -F, -v OFS=, '
    FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; if (NR == 1) print; next }
    FILENAME ~ /reread/ { $at["quality"] = "ok"; sub(/,$/, ""); if ($1 != "70b-18") print; next }
    $1 == "8b-06" || $1 == "70b-20" { next }
    $1 == "8b-05" || $1 == "8b-07" { $at["memory_mib"] = "" }
    { print }' validation/runs.csv validation/reread.csv > "$tmp/read.csv"
echo
echo "### The H800 rows, each model predicted by the fit of the others"
echo
echo "Two of the three fitted numbers (the SM count is a whole number and stays); \`stepsim calibrate --leave-out model\`."
echo
echo "| left out | n | mean % | median | worst | bias |"
echo "|---|---|---|---|---|---|"
time_rows() { # table, what is put behind "all", which lines
    "$program" calibrate --platform h800 --rows "$1" --stack megatron-2407 --leave-out model \
        --prop ss.gemm.efficiency.bf16=0.71:0.786 --prop ss.loss.forward_bytes=38:80 \
        -o "$tmp/h800.xml" --stack-output "$tmp/stack.xml" 2> /dev/null | awk -v behind="$2" -v lines="$3" '
        /^Times predicted by the fit/ { on = 1; next }
        on && $2 == "mean" && $1 ~ lines { print "| " $1 behind " | " $NF " | " $3 " | " $5 " | " $7 " | " $9 " |" }'
}
time_rows validation/runs.csv "" .
time_rows "$tmp/read.csv" ", 8b-06, 8b-08 and 70b-20 as read below" all

echo
echo "### The memory of the H800 rows, each model predicted by the fit of the others"
echo
echo "The two numbers of memory, \`ss.memory.nccl_per_group\` and \`ss.memory.fragmentation\`; as the table tells the rows, and as"
echo "they are read below: 8b-06, 8b-08 and 70b-20 with the layouts of validation/reread.csv, 8b-05 and 8b-07 left out."
echo
echo "| rows | left out | n | mean % | median | worst | bias |"
echo "|---|---|---|---|---|---|---|"
memory_rows() { # rows, table
    "$program" calibrate --platform h800 --rows "$2" --stack megatron-2407 --leave-out model \
        --prop ss.memory.nccl_per_group=0B:3GB --prop ss.memory.fragmentation=0:0.3 \
        -o "$tmp/h800.xml" --stack-output "$tmp/stack.xml" 2> /dev/null | awk -v rows="$1" '
        /^  ss.memory/ { fitted = fitted (fitted ? ", " : "") $4 " " $5 " " $6; sub(/\+-/, "±", fitted) }
        /^Their memory, likewise/ { on = 1; next }
        on && $2 == "mean" { print "| " rows " | " $1 " | " $NF " | " $3 " | " $5 " | " $7 " | " $9 " |" }
        END { print "| " rows " | fitted: " fitted " | | | | | |" }'
}
memory_rows "as told" validation/runs.csv
memory_rows "as read" "$tmp/read.csv"

# The same rows' memory if the figure were that of another stage.
echo
echo "### The memory of the H800 rows as told, by the stage that the figure is taken for"
echo
echo "| figure of the | n | mean % | worst | bias |"
echo "|---|---|---|---|---|"
for logged in peak first last; do
    echo "<stack name=\"$logged\" base=\"megatron-2407\"><prop id=\"ss.memory.logged\" value=\"$logged\"/></stack>" > "$tmp/$logged.xml"
    awk -F, -v OFS=, -v stack="$tmp/$logged.xml" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print; next }
        $at["gpu"] == "H800" { $at["stack"] = stack; print }' validation/runs.csv > "$tmp/logged.csv"
    "$program" validate "$tmp/logged.csv" 2> /dev/null | awk -v what="$logged" '
        $1 == "all" && !done { done = 1; print "| " (what == "peak" ? "largest stage" : what " stage") " | " $7 " | " $8 " | " $10 " | " $11 " |" }'
done

# Rows that read like another layout: as told, and as validation/reread.csv has them.
echo
echo "### Rows whose figures are those of another layout, as told and as read"
echo
echo "| row | time as told, error % | as read | memory as told, error % | as read |"
echo "|---|---|---|---|---|"
"$program" validate reread --csv "$tmp/reread.csv" > /dev/null 2>&1
awk -F, '
    FNR == 1 { for (i = 1; i <= NF; i++) at[FILENAME, $i] = i; next }
    { key = $at[FILENAME, "id"]; sub(/-(vp2|pp4|tp2pp2)$/, "", key);
      t = $at[FILENAME, "error_pct"]; m = $at[FILENAME, "memory_error_pct"]; o = $at[FILENAME, "predicted_outcome"] }
    FILENAME ~ /reread/ { n++; name[n] = key; time[key] = t; memory[key] = m; outcome[key] = o; next }
    key in time { told_t[key] = t; told_m[key] = m; told_o[key] = o }
    function cell(x, o) { return x == "" ? (o == "oom" ? "too large" : "fits") : sprintf("%+.1f", x) }
    END { for (i = 1; i <= n; i++) { k = name[i]
        printf "| %s | %s | %s | %s | %s |\n", k, told_t[k] == "" ? "" : cell(told_t[k]), time[k] == "" ? "" : cell(time[k]), cell(told_m[k], told_o[k]), cell(memory[k], outcome[k]) } }' \
    "$tmp/reread.csv" validation/results.csv

# What is left of a measured figure when all tensors of the stage are taken off.
echo
echo "### Rest of the measured memory when the stage's weights, gradients, optimizer, activations and logits are taken off, GiB"
echo
echo "| row | first stage | last stage |"
echo "|---|---|---|"
rest() { # row, MiB, flags...
    row=$1 mib=$2
    shift 2
    "$program" run --engine native --platform h800 --stack megatron-2407 --seq 8192 --mbs 1 --gbs 1024 \
        --use-distributed-optimizer "$@" --json 2> /dev/null | awk -v row="$row" -v mib="$mib" '
        /"stages": / { on = 1 }
        /"critical_stage"/ { on = 0 }
        on && /"stage"/ { n++ }
        on && /"(weights|gradients|optimizer|activations|logits)_mib"/ { gsub(/[^0-9.]/, "", $2); sum[n] += $2 }
        END { printf "| %s | %.1f | %s |\n", row, (mib - sum[1]) / 1024, (n > 1 ? sprintf("%.1f", (mib - sum[n]) / 1024) : "") }' || true
}
small="--model llama3.1-8b --nodes 4"
overlap="--sequence-parallel --tp-comm-overlap"
# shellcheck disable=SC2086 # lists of words
{
    rest 8b-09 67710 $small --precision fp8 --pp 2 --recompute selective
    rest 8b-10 65012 $small --bf16 --pp 2
    rest 8b-11 54416 $small --precision fp8 --pp 4
    rest 8b-12 32318 $small --precision fp8 --tp 2 --pp 4 $overlap
    rest "8b-05 as told" 31458 $small --bf16 --tp 2 --pp 2 $overlap
    rest "8b-07 as told" 34000 $small --precision fp8 --tp 2 --pp 2 $overlap
    rest "8b-06 as told" 55762 $small --bf16 --cp 4
    rest "8b-06 as pipeline 4" 55762 $small --bf16 --pp 4
    rest "8b-08 as told" 38722 $small --precision fp8 --pp 4 --recompute selective
    rest "8b-08 as tensor 2 x pipeline 2" 38722 $small --precision fp8 --tp 2 --pp 2 --recompute selective $overlap
}

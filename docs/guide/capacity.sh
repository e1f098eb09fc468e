#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh docs/guide/capacity.sh [PROGRAM] > docs/guide/capacity.md
# Days, money and energy of trainings: a plan, what was published held against it, and 8 against 16 nodes; the picture docs/guide/pictures/capacity.svg.
# The last table searches for layouts, which takes minutes.
. "$(dirname "$0")/pages.sh"

# point FILE NODES KEY: of the point of so many nodes
point() {
    awk -v nodes="$2" -v key="\"$3\":" '$1 == "\"nodes\":" { sub(/,/, "", $2); inside = $2 == nodes }
        inside && $1 == key { sub(/^[^:]*: /, ""); gsub(/[",]/, ""); print; exit }' "$dir/$1"
}
# error PREDICTED PUBLISHED
error() { calc %+.1f "100 * (($1) / ($2) - 1)"; }

# ---- Llama 3.1 405B ----
# What the report (arXiv:2407.21783) says of the run, and what a job needs beside it
llama="--platform h100 --set ss.nodes_per_leaf=384 --set ss.oversubscription=7 --model llama3.1-405b --bf16"
llama="$llama --tp 8 --pp 16 --vp 8 --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split"
llama="$llama --rank-order tp-cp-pp-ep-dp --mbs 1 --sequence-parallel --use-distributed-optimizer"
llama="$llama --overlap-grad-reduce --overlap-param-gather --layout given --tokens 15.6T"
observed=50676h # 16,384 GPUs x 54 days / 419
# llama NAME STACK WORD...
llama() {
    name=$1
    stack=$2
    shift 2
    # shellcheck disable=SC2086 # a list of words
    result "$name" capacity $llama --stack "$stack" "$@" --json
}
# runs NAME STACK: its three layouts, and all tokens with the failures that were seen and with the usual ones
runs() {
    llama "$1-8k" "$2" --nodes 1024 --seq 8192 --gbs 2048
    llama "$1-16k" "$2" --nodes 2048 --seq 8192 --gbs 2048
    llama "$1-long" "$2" --nodes 2048 --seq 131072 --gbs 128 --cp 16 --cp-comm-type all_gather
    llama "$1-seen" "$2" --nodes 2048 --seq 8192 --gbs 2048 --set ss.mtbf=$observed
}
runs torch torchtitan-2024
runs megatron megatron-2407
# layout TEXT NAME NODES PUBLISHED
layout() {
    printf '| %s | %s |' "$1" "$4"
    for stack in torch megatron; do
        tflops=$(point "$stack-$2" "$3" tflops_per_gpu)
        printf ' %s (%s %%) |' "$(calc %.0f "$tflops")" "$(error "$tflops" "$4")"
    done
    printf ' %s GiB, %s |\n' "$(calc %.0f "$(point "torch-$2" "$3" peak_mib) / 1024")" "$(point "torch-$2" "$3" verdict)"
}
# hours TEXT NAME NODES PUBLISHED: in millions of GPU-hours
hours() {
    value=$(calc %.4f "$(point "$2" "$3" gpu_hours) / 1e6")
    printf '| %s | %s | %s (%s to %s) | %s %% | %s %% |\n' "$1" "$4" "$(calc %.2f "$value")" \
        "$(calc %.2f "$(point "$2" "$3" gpu_hours_low) / 1e6")" "$(calc %.2f "$(point "$2" "$3" gpu_hours_high) / 1e6")" \
        "$(error "$value" "$4")" "$(calc %.1f "100 * $(point "$2" "$3" goodput)")"
}
result deepseek capacity --job workloads/jobs/deepseek-v3-2048.args --layout given --nodes 256 --tokens 14.8T --json
# Llama 3.1 70B: its layout is not published
seventy="--platform h100 --model llama3.1-70b --bf16 --seq 8192 --gbs 2048 --mbs 1 --use-distributed-optimizer --overlap-grad-reduce"
seventy="$seventy --overlap-param-gather --stack torchtitan-2024 --layout given --nodes 256 --tokens 15T --set ss.mtbf=$observed"
# shellcheck disable=SC2086 # lists of words
result 70b-tp capacity $seventy --tp 8 --pp 4 --vp 5 --sequence-parallel --json
# shellcheck disable=SC2086
result 70b-recompute capacity $seventy --tp 8 --pp 4 --vp 5 --sequence-parallel --recompute full --json

# ---- 8 against 16 nodes ----
# choice PLATFORM MODEL: two rows
choice() {
    result choice capacity --platform "$1" --model "$2" --bf16 --seq 8192 --gbs 1024 --overlap-grad-reduce --overlap-param-gather \
        --nodes 8,16 --tokens 1T --json
    for nodes in 8 16; do
        printf '| %s | %s | %s |' "$2" "$1" "$nodes"
        if [ -z "$(point choice $nodes days)" ]; then
            printf ' %s | | | | | | |\n' "$(point choice $nodes verdict)"
            continue
        fi
        printf ' %s | %s | %s (%s to %s) | %s | %s | %s | %s |\n' "$(point choice $nodes layout)" \
            "$(calc %.2f "$(point choice $nodes iteration_ms) / 1000")" "$(calc %.1f "$(point choice $nodes days)")" \
            "$(calc %.1f "$(point choice $nodes days_low)")" "$(calc %.1f "$(point choice $nodes days_high)")" \
            "$(calc %.1f "$(point choice $nodes gpu_hours) / 1000")" "$(calc %.0f "$(point choice $nodes usd) / 1000")" \
            "$(calc %.0f "$(point choice $nodes energy_kwh) / 1000")" "$(point choice $nodes verdict)"
    done
}
plan="--job 70b-14 --platform h800 --layout given --nodes 8..4096 --tokens 1T --deadline 30d"
# shellcheck disable=SC2086 # a list of words
result text capacity $plan --svg "$dir/capacity.svg"
cp "$dir/capacity.svg" docs/guide/pictures/capacity.svg
which="--vary platform=h100,h800,gb200 --model llama3.1-405b --bf16 --seq 8192 --gbs 2048 --tokens 15T --deadline 90d --cp 1 --mbs 1 --vary tp=8 --vary pp=4,8,16 --vary fsdp=none"
# shellcheck disable=SC2086 # a list of words
result which capacity $which

cat << END
# How many nodes, days, dollars and kilowatt-hours?

\`stepsim capacity\` plans a training: for each number of nodes the days, GPU-hours, money and energy that so many tokens take, with failures and checkpoints, each with
the range of 90 % of such jobs. Made by \`sh docs/guide/capacity.sh\`; every figure is the program's. The equations and the sources of what they take are in
[model.md, section 15](../reference/model.md#15-days-money-and-energy); the props, which \`--set\` changes, in [formats-platform.md](../reference/formats-platform.md).

\`\`\`
\$ stepsim capacity $plan
$(cat "$dir/text")
\`\`\`

![days and money over the number of nodes](pictures/capacity.svg)

The rows of a range double. With a deadline or a budget the numbers between them are planned, too: days over nodes are not monotone, because the factors of a number decide which layouts divide it. The answer to a deadline is the cheapest number that keeps it (and a
\`--budget\`, if there is one), the answer to a budget alone the fastest within it; without either it is the *knee*: the most nodes whose GPU-hours are within a tenth of the fewest. The line below the answer says how the numbers were looked at:
- numbers on which the tokens take longer than the deadline even at the card's peak (6 FLOP a token and parameter that multiplies it) are not planned;
- where few layouts are left open on all numbers together, every number is searched with all of them, but for layouts that a lower bound shows to be dearer than the best answer so far. That answer is the cheapest of all numbers;
- where they are many, one row is searched, and the layouts that are best there are predicted on the other rows and, with each micro batch that they allow, on the numbers about the answer. Then the numbers nearest to the answer are searched over the tensor and context sizes of those layouts; the line says how many. A list, \`--nodes 40,44,48\`, searches each of its numbers in full.

Layouts are compared by closed forms; where these are doubted, the best of them are compared by flows (\`stepsim help run\`, \`--level\`). Amounts that must be a unit off are refused with what was probably meant. Where no number of nodes meets a deadline, the exit status is 1,
and the answer names the fastest number and the nodes that would do by the trend of the rows.

\`--layout given\` keeps the job's layout, and data parallelism takes the nodes; without it each row gets the best layout of a search (\`stepsim search\`). Where the GPUs do not divide the batch, the nearest within a sixteenth of it is taken that loses fewest layouts; the row
and the answer say by how much it differs. Where none is within a sixteenth the nearest is taken: it trains another model, so that such a number is the answer, the sure answer, the cheapest or the knee only where no other can be. On a platform in racks (\`ss.fabric.nodes\`, as of NVL72) numbers beyond a rack are whole racks.
The range is that of the iteration's error alone. Failures, storage and power are means of what others published.

## Which platform

\`\`\`
\$ stepsim capacity $which
$(cat "$dir/which")
\`\`\`

\`--report FILE.html\` has all of that on one page. GPU-hours lead, because they need no price. Prices are examples unless you give yours (\`--price 2.5USD/h\`, or \`ss.price\` in a platform's file); \`ss.price.basis\` of a card says whose list its example is of, when and of what
clouds, and a platform is called cheapest only among those of one basis. \`--journal FILE\` keeps each number of nodes as it is planned; after an interrupt the same command with \`--resume\` goes on.

## What was published

Nothing here is fitted on these runs. The report on Llama 3 (arXiv:2407.21783, table 4) gives three layouts of 405B; it says that the first chunk of a pipeline has only the embedding and the last one only output and loss, so
a chunk is a layer and there are 8 of 16 stages; that ranks go TP, CP, PP, DP; that context parallelism gathers keys and values; that optimizer states are sharded and nothing is recomputed; and of the network 400 Gb/s a GPU, pods of 3,072, 1:7 above them. It does not say
the micro batch (1 is taken) nor what its software is, but that it is Meta's own on PyTorch. So the stack is not Megatron-LM's; torchtitan's of the same year, Meta's public trainer, is the nearest that has a description here. Both are shown, and a stack would have to be chosen without knowing the result.

| 405B on H100 | published TFLOP/s a GPU | with stack torchtitan-2024 | with megatron-2407, the usual one | memory with torchtitan-2024 |
|---|---|---|---|---|
$(layout "8,192 GPUs, TP 8 PP 16 DP 64, 8,192 tokens" 8k 1024 430)
$(layout "16,384 GPUs, TP 8 PP 16 DP 128, 8,192 tokens" 16k 2048 400)
$(layout "16,384 GPUs, TP 8 CP 16 PP 16 DP 8, 131,072 tokens" long 2048 380)

TFLOP/s count the whole square of attention. With half of it, as causal attention needs, the third row would be $(calc %.0f "$(point torch-long 2048 tflops_causal_per_gpu)"), so the report counts the whole.
Memory disagrees: the report says that the first two fit in 80 GB without recompute, by freeing tensors as early as they can be and by a schedule with fewer microbatches in flight; neither of these stacks does that. So \`capacity\` tells these points
in full and calls them too large; with the words of the report alone it would not have recommended them.

| training | published, M GPU-hours | predicted (90 % of such jobs) | error | goodput |
|---|---|---|---|---|
$(hours "Llama 3.1 405B, 15.6 T tokens, all on 16,384 H100; a failure in $observed of a GPU, as seen" torch-seen 2048 30.84)
$(hours "the same, the usual failures (\`ss.mtbf\`)" torch-16k 2048 30.84)
$(hours "the same, megatron-2407, failures as seen" megatron-seen 2048 30.84)
$(hours "DeepSeek-V3, 14.8 T tokens on 2,048 H800 (job deepseek-v3-2048)" deepseek 256 2.664)
$(hours "Llama 3.1 70B, 15 T tokens, TP 8 PP 4 x 5 on 2,048 H100 (the layout is not published)" 70b-tp 256 7.0)
$(hours "the same, everything recomputed" 70b-recompute 256 7.0)

- **Llama 3.1 405B.** The tokens were not all trained so: 2.87 T had half the batch, a part was on 8,192 GPUs, the last on long sequences; and whether the hours count what was lost is not said.
- **Goodput.** The report has "higher than 90 %" at 419 unexpected interruptions in 54 days, $(calc %.2f "54 * 24 / 419") h apart. With that number of failures given, the plan has $(calc %.1f "100 * $(point torch-seen 2048 goodput)") %: a check of the formula, of 600 s for a
  restart and of storage, which is Llama 3's own. The usual failures, of another cluster (6.5 in 1,000 node-days on A100), are one in $(calc %.2f "$(point torch-16k 2048 failure_interval_h)") h there, and the plan has
  $(calc %.1f "100 * $(point torch-16k 2048 goodput)") %. 47 planned interruptions are in neither.
- **DeepSeek-V3.** 2.664 M hours are pre-training alone (arXiv:2412.19437).
- **Llama 3.1 70B.** 7.0 M hours (its model card) for the more than 15 T tokens are 252 TFLOP/s a GPU by 6 FLOP a parameter and token, $(calc %.0f "252 * (6 * 70.55e9 + 12 * 80 * 8192 * 8192) / (6 * 70.55e9)") with attention. What trained it is not published: neither
  layout, GPUs nor batch. A good layout of today would take $(calc %.1f "$(point 70b-tp 256 gpu_hours) / 1e6") M, one that recomputes everything $(calc %.1f "$(point 70b-recompute 256 gpu_hours) / 1e6") M, so the hours are those of a run that was not tuned, or count more than one. No figure here should be moved for it.

## 8 or 16 nodes

The best layout of a search on each, bf16, sequences of 8,192, batch 1,024, for a trillion tokens. Prices are the examples of platforms/cards: H800 as an H100, H20 as an A100; no list price of either was found.
A best layout is within the error of others (\`stepsim search\` lists them), so which of these it is says less than the days do.

| model | platform | nodes | best layout | iteration, s | days (90 % of such jobs) | thousand GPU-hours | thousand USD | MWh | verdict |
|---|---|---|---|---|---|---|---|---|---|
$(choice h800 llama3.1-8b)
$(choice h20 llama3.1-8b)
$(choice h800 llama3.1-70b)
$(choice h20 llama3.1-70b)

## What it does not know

Planned maintenance, queues, spare nodes, evaluation, ramps of the batch or of the sequence, several failures at once, tariffs by the hour, carbon, water, and whether another batch converges. Energy is a product of published mean powers, not a measurement:
of a node of H100 in training 8.4 kW at most were measured where the maker's plate says 10.2. Of networks outside of the nodes it counts nothing.
END

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh docs/guide/deepseek-v3.sh [PROGRAM] > docs/guide/deepseek-v3.md
# DeepSeek-V3 on 2,048 H800: the page, from the program's own answers, and its picture docs/guide/pictures/deepseek-v3-pair.svg.
. "$(dirname "$0")/pages.sh"
job=workloads/jobs/deepseek-v3-2048.args

# predict NAME WORD...: result in $dir/NAME. That a job does not fit (1) is an answer.
predict() {
    name=$1
    shift
    result "$name" run --job $job --engine native "$@" --json
}
# run_of NAME TEXT WORD...: a row of a table of variants
variant() {
    name=$1
    text=$2
    shift 2
    predict "$name" "$@"
    printf '| %s | %s | %s %% | %s | %s | %s |\n' "$text" "$(calc %.2f "$(value "$name" iteration_ms) / 1000")" \
        "$(calc %+.1f "100 * ($(value "$name" iteration_ms) / $base - 1)")" "$(calc %.2f "$(part "$name" ep) / 1000")" \
        "$(calc %.1f "$(value "$name" peak_mib) / 1024")" "$(verdict "$name")"
}
# slots TRACE: seconds and number of the slots of each phase, of idling and waiting, and of the optimizer with the exchanges of gradients and parameters
# that it waits for, of the first class of each stage
slots() {
    awk '
    { if (match($0, /"pid":[0-9]+/)) pid = substr($0, RSTART + 6, RLENGTH - 6) }
    /"process_name"/ && match($0, /stage[0-9]+(\.0)?:/) { stage[pid] = substr($0, RSTART + 5, RLENGTH - 6) + 0 }
    /"us":/ && (pid in stage) {
        match($0, /"dur":[0-9.]+/); d = substr($0, RSTART + 6, RLENGTH - 6)
        match($0, /"cat":"[a-z]+"/); k = substr($0, RSTART + 7, RLENGTH - 8)
        if (k == "wait" && /"name":"(dp|optimizer)"/) k = "step"
        if (k == "run") { k = "step"; if (match($0, /"phase":"[A-Z]+"/)) k = substr($0, RSTART + 9, RLENGTH - 10) }
        t[stage[pid], k] += d / 1e6; n[stage[pid], k]++
    }
    END {
        for (p in stage) { s = stage[p]
            printf "%d %.4f %.4f %.4f %.4f %.4f %.4f %d %.4f %d\n", s, t[s, "FB"], t[s, "F"], t[s, "B"] + t[s, "I"], t[s, "W"], \
                t[s, "idle"] + t[s, "wait"], t[s, "step"], n[s, "FB"], t[s, "B"] / n[s, "B"], n[s, "W"] }
    }' "$1" | sort -n
}
"$program" run --job $job --engine native --trace "$dir/trace.json" --json > "$dir/chunk" || [ $? -le 1 ]
slots "$dir/trace.json" > "$dir/slots"
base=$(value chunk iteration_ms)
predict even --spread 0 --trace "$dir/even.json"
slots "$dir/even.json" > "$dir/even.slots"
predict overlap --overlap-grad-reduce --overlap-param-gather
# parts COLUMN: of a rank of stage 0, which has as much work as that of stage 15, on mean GPUs and on those of its group; and the mean of all
even() { awk -v c="$1" '$1 == 0 { print $c }' "$dir/even.slots"; }
first() { awk -v c="$1" '$1 == 0 { print $c }' "$dir/slots"; }
mean() { awk -v c="$1" '{ sum += $c; n++ } END { print sum / n }' "$dir/slots"; }
# What is left of the iteration beside the parts of a rank on mean GPUs: idling, and all that waits for slower GPUs
waiting() { calc %.4f "$base / 1000 - $(even 2) - $(even 3) - $(even 4) - $(even 5) - $(even 7)"; }
# cell VALUE PUBLISHED
cell() { printf '%s (%s %%)' "$(calc %.2f "$1")" "$(calc %+.0f "100 * ($1 / $2 - 1)")"; }
# row TEXT PUBLISHED COLUMN
row() {
    apart=$(even "$3")
    [ "$3" = 6 ] && apart=$(waiting)
    printf '| %s | %s | %s | %s | %s |\n' "$1" "$2" "$(cell "$apart" "$2")" "$(cell "$(first "$3")" "$2")" "$(cell "$(mean "$3")" "$2")"
}

# A layout's words: layers of the first and of the last stage, and the stage with a fifth one (0: none)
layout_of() {
    awk -v first="$1" -v last="$2" -v five="$3" 'BEGIN {
        t = "tttttt"; printf "E%s|", substr(t, 1, first)
        for (s = 1; s <= 14; s++) printf "%s|", substr(t, 1, s == five ? 5 : 4)
        printf "%smL\n", substr(t, 1, last) }'
}
# layout FIRST LAST FIVE: its row in $dir/layouts
layout() {
    predict layout --pipeline-model-parallel-layout "$(layout_of "$1" "$2" "$3")" --trace "$dir/layout.json"
    slots "$dir/layout.json" > "$dir/layout.slots"
    where=${3#0}
    printf '| %s / %s | %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$2" "${where:+stage $where}" \
        "$(calc %.2f "$(value layout iteration_ms) / 1000")" "$(calc %.1f "$(value layout peak_mib) / 1024")" "$(verdict layout | head -n 1)" \
        "$(value layout critical_stage)" \
        "$(awk -v s="$(value layout critical_stage)" '$1 == s { printf "%.2f | %.2f | %.2f | %.2f", $2, $3, $4, $6 }' "$dir/layout.slots")" \
        "$(awk '{ a += $2; b += $3; c += $4; d += $6 } END { printf "%.2f | %.2f | %.2f | %.2f", a / NR, b / NR, c / NR, d / NR }' "$dir/layout.slots")" >> "$dir/layouts"
}

# formula WHOSE RANK PAIRS F&B B W IDLE
formula() {
    printf '| %s | %s | %s | %.1f | %.1f | %.1f | %.2f | %s |\n' "$1" "$2" "$3" "$4" "$5" "$6" "$(calc %.4f "7 * ($4 + $5 - 3 * $6) / 1000")" "$7"
}
# load TEXT LOAD LOSS WORD...
load() {
    text=$1
    words="--moe-load $2"
    loss=$3
    shift 3
    predict load $words --moe-router-padding-for-fp8 "$@" --trace "$dir/load.json"
    slots "$dir/load.json" > "$dir/load.slots"
    hottest=$("$program" plan --job $job $words | awk '/hottest rank/ { print $3 }')
    printf '| %s | %s | %s | %s | %s | %s |\n' "$text" "$(calc %+.0f "100 * ($hottest - 1)") %" "$loss" "$(calc %.2f "$(value load iteration_ms) / 1000")" \
        "$(awk '$1 == 0 { printf "%.2f | %.2f | %.2f | %.2f | %.2f", $2, $3, $4, $5, $6 }' "$dir/load.slots")" \
        "$(awk '{ a += $2; d += $6 } END { printf "%.2f | %.2f", a / NR, d / NR }' "$dir/load.slots")"
}
# loss BYTES: ms of both losses of a microbatch, forward and backward
loss() {
    back=$([ "$1" = 2 ] && echo "--set ss.loss.backward_bytes=4" || true)
    "$program" plan --job $job --set ss.loss.forward_bytes=$1 $back --steps 0 |
        awk -F, '($1 == "F" || $1 == "I") && $7 == "cross entropy" { s += $10 } END { printf "%.0f", s }'
}
predict jitter --jitter 0.05 --replicas 5

# One pair of stage 7 at layer level: the first that begins behind the middle of the iteration
"$program" run --job $job --engine native --spread 0 --level layer --trace "$dir/layer.json" --window 9s:10s > /dev/null || [ $? -le 1 ]
awk '
    /"process_name"/ && /stage7(\.0)?:/ { match($0, /"pid":[0-9]+/); pid = substr($0, RSTART, RLENGTH) "," }
    pid && index($0, pid) && /"ph":"X"/ {
        match($0, /"ts":[0-9.]+/); ts = substr($0, RSTART + 5, RLENGTH - 5) + 0
        match($0, /"dur":[0-9.]+/); d = substr($0, RSTART + 6, RLENGTH - 6) + 0
        if (/"cat":"slot"/ && /"phase":"FB"/ && ts >= 9e6 && (!from || ts < from)) { from = ts; span = d }
        if (/"cat":"ep"/) { k = /dispatch/ ? "dispatch" : "combine" } else if (/"cat":"run"/) k = "kernels"
        else if (/"cat":"wait"/ && /"ep":/) k = "wait"; else next
        n++; at[n] = ts; length_[n] = d; kind[n] = k
    }
    END {
        print "pair", from, span
        for (i = 1; i <= n; i++) if (at[i] >= from - 0.5 && at[i] < from + span - 0.5) print kind[i], at[i] - from, length_[i]
    }' "$dir/layer.json" > "$dir/pair"
pair=$(awk '$1 == "pair" { print $3 / 1000 }' "$dir/pair")
# Its kernels: each takes ss.kernel_latency longer where that is longer.
busy() { awk -F, '$1 == "FB" && $4 == "compute" { pair = pair ? pair : $3; if ($3 == pair) s += $10 } END { printf "%.9f", s }' "$dir/$1"; }
"$program" plan --job $job --set ss.kernel_latency=100us --steps 7 > "$dir/slow1"
"$program" plan --job $job --set ss.kernel_latency=101us --steps 7 > "$dir/slow2"
kernels=$(calc %.0f "1000 * ($(busy slow2) - $(busy slow1))")
gaps=$(calc %.3f "$kernels * 0.002")
sum() { awk -v k="$1" '$1 == k { s += $3 } END { print s / 1000 }' "$dir/pair"; }
"$program" plan --job $job --steps 7 > "$dir/steps"
picture=docs/guide/deepseek-v3-pair.awk
# waits MS: that kernels wait if each exchange begins with so many ms of a handshake
waits() { calc %.1f "$(awk -v notify="$1" -v total=1 -f $picture "$dir/steps") - $drawn"; }
drawn=$(awk -v total=1 -f $picture "$dir/steps")
[ "$(calc %.3f "$drawn")" = "$(calc %.3f "$pair")" ] || { echo "deepseek-v3.sh: $picture draws $drawn ms of $pair" >&2; exit 1; }
mkdir -p docs/guide/pictures
awk -f $picture "$dir/steps" > docs/guide/pictures/deepseek-v3-pair.svg

cat << END
# DeepSeek-V3 on 2,048 H800

The run of DeepSeek-V3's technical report (arXiv:2412.19437) with the figures that its authors gave at ISCA 2025 (arXiv:2505.09343) and in the
profile of one DualPipe pair (deepseek-ai/profile-data). Made by \`sh docs/guide/deepseek-v3.sh\`; every figure but those called published or measured is
a prediction. Nothing is fitted on the step or on the pair's wall time; single kernels of the profile calibrate block-scaled fp8, casts, norms, attention and
the SMs of the all-to-all ([calibration log](../design/calibration-log.md)).

\`\`\`
stepsim run --job deepseek-v3-2048

$(sed -e '/^#/d' -e '/^--measured/d' $job)
\`\`\`

**An iteration takes $(calc %.2f "$base / 1000") s; published are 19.9 s ($(calc %+.1f "100 * ($base / 19900 - 1)") %).** That is $(calc %.0f "$base / 3.6e6 * 2048 / (15360 * 4096) * 1e12 / 1000") K GPU-hours a trillion tokens
(published: 180 K), $(calc %.0f "$(value chunk tflops_per_gpu)") TFLOP/s a GPU. Memory: $(calc %.1f "$(value chunk peak_mib) / 1024") of $(calc %.1f "$(value chunk capacity_mib) / 1024") GiB on the fullest stage, $(verdict chunk).

## Against the published parts

Seconds of an iteration by the kind of slot. Which rank the authors timed is not published, nor how the layers lie on the stages; here embedding and losses share
ranks, those of stages 0 and 15, and make them the busiest. GPUs differ (docs/reference/model.md, section 14; nothing of it is fitted): an exchange waits for the slowest of 64, so slots of all ranks are
$(calc %.1f "100 * ($(awk '$1 == 7 { print $2 }' "$dir/slots") / $(awk '$1 == 7 { print $2 }' "$dir/even.slots") - 1)") % longer than on mean GPUs, and one stage has the slowest GPU of all (here stage $(awk 'NR == FNR { e[$1] = $2; next } $2 / e[$1] > m { m = $2 / e[$1]; s = $1 } END { print s }' "$dir/even.slots" "$dir/slots")). Without that an iteration takes $(calc %.2f "$(value even iteration_ms) / 1000") s.
The second column has a rank of stage 0 with its slots as on mean GPUs and all waiting for slower ones beside the bubble, as the label \`spread\` has it; the third has the
slots as they would be timed, with the waiting inside them; the last the mean of all ranks.

| | published | stage 0, waiting apart | stage 0, slots as timed | mean |
|---|---|---|---|---|
END
row "forward and backward in pairs (F+B)" 13.95 2
row "forward alone" 1.13 3
row "backward alone" 1.99 4
row "weight gradients alone" 0.48 5
row "idle and waiting (bubble)" 2.06 6
row "optimizer, exchanges of gradients and parameters" 0.29 7
cat << END

Compared is the second column. That GPUs wait for slower ones is an expectation of the model, which says how long and not where: inside the exchanges of pairs, where a clock around
slots counts it as theirs, or between slots. So its slots are held against the published without it, and its idling with all of it; the third column shows what it is the other way. The sum
hardly depends on it: pairs and bubble together are 16.01 s published, $(calc %.2f "$(even 2) + $(waiting)") in the second column ($(calc %+.1f "100 * (($(even 2) + $(waiting)) / 16.01 - 1)") %) and $(calc %.2f "$(first 2) + $(first 6)") in the third ($(calc %+.1f "100 * (($(first 2) + $(first 6)) / 16.01 - 1)") %).

The published parts add up to the step, and none is named for the exchanges of gradients and parameters, so what sticks out of these is the optimizer's here: the step
itself, HBM traffic and norms, takes $(calc %.2f "$(part chunk optimizer) / 1000") s. The report says ZeRO-1 and not whether its exchanges are hidden; as Megatron does where nothing is said, they are not.
With \`--overlap-grad-reduce --overlap-param-gather\` an iteration takes $(calc %.2f "$(value overlap iteration_ms) / 1000") s, and $(calc %.2f "($(part overlap optimizer) + $(part overlap dp)) / 1000") s are left of them.

## The bubble

DualPipe's own formula, (PP/2 - 1) (F&B + B - 3W) with seconds of one slot, in the rank's number of slots:

| | rank | pairs | F&B, ms | B, ms | W, ms | formula, s | idle and waiting, s |
|---|---|---|---|---|---|---|---|
END
formula predicted "$(value chunk critical_stage)" $(awk -v s="$(value chunk critical_stage)" '$1 == s { printf "%d %.2f %.2f %.2f %.2f", $8, 1000 * $2 / $8, 1000 * $9, 1000 * $5 / $10, $6 }' "$dir/slots")
formula predicted 7 $(awk '$1 == 7 { printf "%d %.2f %.2f %.2f %.2f", $8, 1000 * $2 / $8, 1000 * $9, 1000 * $5 / $10, $6 }' "$dir/slots")
# Published parts: rank r of the first half has 97 + r pairs (the middle one 103), as many single forwards and backwards as make 120, 15 - r weight slots
formula published 0 97 $(calc "%.2f %.2f %.2f" "13950 / 97, (1990 + 480) / 23, 480 / 15") 2.06
formula published 7 103 $(calc "%.2f %.2f %.2f" "13950 / 103, (1990 + 480) / 17, 480 / 8") 2.06
cat << END

The order of slots is that of deepseek-ai/DualPipe on each of the 16 ranks, and the busiest rank idles about as long as the formula says. With the published
parts the formula gives half of the published bubble or less, whichever rank they are of, so 1 s of it is waiting for slots that take longer elsewhere. The spread of GPUs accounts for
$(calc %.2f "$(part chunk spread) / 1000") s of the iteration: with all of it beside the bubble, as compared above, the rank waits $(cell "$(waiting)" 2.06). With what is inside the exchanges of its own slots counted as theirs
it waits $(cell "$(first 6)" 2.06), the mean rank $(cell "$(mean 6)" 2.06), and neither is within 20 %. How the parts were timed is not published. What else may be in it:

- Activations sent between stages are no cause here: $(calc %.0f "$(part chunk pp)") ms are exposed.
- The published 0.48 s of weight gradients are of a rank that has the output layer: a chunk of four layers has 27.5 ms of them in the profile, and no other rank has more
  than 14 slots of weight gradients, 0.39 s.
- Here the ranks with the losses are the slowest: they wait for hardly any other, and the mean rank $(calc %.1f "$(mean 6)") s. Where other ranks are as slow, all wait for one another. Two things
  that are not published make them so. One is the routing: balanced experts make all pairs of four layers equal, a real run's are not, and even the profile's rank, whose
  routing is called balanced, gets from 28,416 to 36,864 copies of tokens a layer. The other is the loss: two unfused cross entropies of 129,280 columns
  are $(loss 38) ms a microbatch, fused ones that read the 16-bit logits once, and write their gradient, $(loss 2).

| load of the experts (\`--moe-load\`) | hottest rank | loss | an iteration, s | rank 0: F+B | F | B | W | bubble | mean: F+B | bubble |
|---|---|---|---|---|---|---|---|---|---|---|
| published | | | 19.9 | 13.95 | 1.13 | 1.99 | 0.48 | 2.06 | | |
END
fused="--set ss.loss.forward_bytes=2 --set ss.loss.backward_bytes=4"
load "balanced (the job's)" balanced unfused
load "random logits" uniform unfused
load "logits with a bias an expert, 0.05" biased:0.05 unfused
load "the same, 0.1" biased:0.1 unfused
load "balanced" balanced fused $fused
load "logits with a bias an expert, 0.05" biased:0.05 fused $fused
load "the same, 0.1" biased:0.1 fused $fused
cat << END

With a fused loss and experts whose hottest rank has $(calc %.0f "100 * ($hottest - 1)") % more than its share the five parts of rank 0 are within $(awk '
    $1 == 0 { split("13.95 1.13 1.99 0.48 2.06", p, " "); for (i = 1; i <= 5; i++) { e = $(i + 1) / p[i] - 1; if (e < 0) e = -e; if (e > m) m = e }; printf "%.0f", 100 * m }' "$dir/load.slots") % of the published, the bubble
among them: where all ranks are about as slow each waits for the others. That shows what the bubble can be, not what it was: neither is published, and the job keeps what is.
Uneven experts take rows that are padded where they are permuted, as in the profile (\`--moe-router-padding-for-fp8\`). Slots of random length (\`--jitter 0.05\`, a log-normal 5 %) make an iteration $(calc %.2f "$(value jitter iteration_ms) / 1000") s: noise alone would have to be large.

## Where the layers lie

The report has embedding and output on one rank, and the profile of its authors four layers of experts in a chunk, so every stage between the first and the last
has four here, and five are left for these two. The job's is that of NVIDIA's recipe of 16 stages (Megatron-Bridge). No prediction can tell it from 3 / 2, which takes 5 GiB less and is nearest to the
published parts, by which none was chosen; nor from a fifth layer elsewhere, which is not the profile's chunk. Parts are those of the busiest rank, in seconds; the mean of all ranks hardly depends on the layout.

| first / last stage | fifth layer | an iteration, s | GiB | | rank | F+B | F | B | bubble | mean F+B | F | B | bubble |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
END
layout 4 1 0
layout 5 0 0
layout 3 2 0
layout 2 3 0
layout 4 0 14
layout 3 1 14
layout 2 2 14
cat "$dir/layouts"
cat << END

## Where the time goes

The rank with most work, ms and share of the iteration.

| | ms | % |
|---|---|---|
END
for label in compute recompute optimizer tp cp ep dp offload pp bubble imbalance spread other; do
    a=$(part chunk $label)
    case $a in *[1-9]*) ;; *) continue ;; esac
    printf '| %s | %s | %s |\n' "$label" "$(calc %.0f "$a")" "$(calc %.1f "100 * $a / $base")"
done
cat << END

## One pair

Four layers of experts forward beside four backward (stage 7, layer level) on GPUs that do not differ, without what the pipeline sends: \`stepsim plan --steps 7\` lists its
kernels and exchanges, and deepseek-v3-pair.awk draws them.

![One pair](pictures/deepseek-v3-pair.svg)

| | measured, ms | predicted, ms | |
|---|---|---|---|
| wall | 129.0 | $(calc %.1f "$pair") | $(calc %+.1f "100 * ($pair / 129.012 - 1)") % |
| kernels run, with the gaps between them | 126.1 | $(calc %.1f "$(sum kernels)") | $(calc %+.1f "100 * ($(sum kernels) / 126.057 - 1)") % |
| none runs, gaps between kernels | 1.8 | $(calc %.1f "$gaps") | 907 and $kernels gaps, 2 us in the median of the profile, which \`ss.kernel_latency\` has in it |
| none runs, else | 2.9 | $(calc %.1f "$pair - $(sum kernels)") | of the measured, 1.8 is one wait for an exchange whose notify had waited 3.6 for peers, 0.9 the profile's first 1.3 ms, 0.3 another wait |
| none runs, in all | 4.8 | $(calc %.1f "$pair - $(sum kernels) + $gaps") | $(calc %+.1f "$pair - $(sum kernels) + $gaps - 4.754") ms |
| dispatch, without the notify kernels | 31.0 | $(calc %.1f "$(sum dispatch)") | $(calc %+.1f "100 * ($(sum dispatch) / 31.0 - 1)") % |
| combine, likewise | 49.4 | $(calc %.1f "$(sum combine)") | $(calc %+.1f "100 * ($(sum combine) / 49.4 - 1)") % |

A notify kernel before each exchange, which the model has not, would be hidden where it takes as long as the shortest of the profile's 16, 0.75 ms: then kernels wait
$(waits 0.753) ms for exchanges. With their mean, 2.04 ms, they wait $(waits 2.04) ms, for the first exchange of the pair.

Kernels by kind are in the [calibration log](../design/calibration-log.md) and checked by \`unit.microbench\`.

## What the schedule and the exchanges bring

Seconds of an iteration, of them exposed exchanges of the busiest rank, GiB on the fullest stage. 1F1B keeps one copy of the model; its
exchanges wait for nothing beside them, for Megatron's 1F1B has no pairs.

| | s | | exposed s | GiB | |
|---|---|---|---|---|---|
END
variant chunk2 "DualPipe, 400 Gb/s"
sed -e '/^--overlap-moe/d' -e 's/--schedule dualpipe//' $job > "$dir/1f1b.args"
was=$job
job="$dir/1f1b.args"
variant one "1F1B, 400 Gb/s"
job="$dir/dualpipe-serial.args"
sed -e '/^--overlap-moe/d' $was > "$job"
variant serial "DualPipe, exchanges exposed"
job=$was
sed -e 's/bandwidth="50GBps"/bandwidth="25GBps"/' -e 's/bandwidth="1.6TBps"/bandwidth="0.8TBps"/' platforms/h800.xml > "$dir/h800-200.xml"
variant half "DualPipe, 200 Gb/s" --platform "$dir/h800-200.xml"
job="$dir/1f1b.args"
variant onehalf "1F1B, 200 Gb/s" --platform "$dir/h800-200.xml"
job=$was
cat << END

## The same on H20

H20 computes at 15 % of the rate and has 78 SMs: an exchange has more time, and each SM that it takes costs more.

| SMs for the all-to-all | s | | exposed s | GiB | |
|---|---|---|---|---|---|
END
: > "$dir/h20"
first=
for sms in 2 4 6 8 10 12 16 20; do
    [ -n "$first" ] || { predict h20 --platform h20 --moe-deepep-num-sms 20; base=$(value h20 iteration_ms); first=1; }
    variant h20 $sms --platform h20 --moe-deepep-num-sms $sms
    echo "$(value h20 iteration_ms) $sms" >> "$dir/h20.times"
done
best=$(sort -n "$dir/h20.times" | head -n 1)
cat << END

In % of 20 SMs. Best are **${best#* } SMs: $(calc %.1f "${best% *} / 1000") s**.
END

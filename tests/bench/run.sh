#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: run.sh [BUILD] [--update] [--part NAME]... [--instructions] [--anchors FOLDER] [--against PROGRAM] [--smoke]
# Times named cases, searches and a sweep of 1,000 configurations, and how cost grows; prints tables in Markdown.
#   BUILD            a build folder (build)
#   --update         writes them to tests/bench/results.md, too, where each part takes the place of its earlier one
#   --part NAME      this one alone, or these: goals cases searches sweep answers anchors growth
#   --instructions   counts those of cases and anchors with callgrind, too
#   --anchors FOLDER Calculon, SimuMax and LogGOPSim, whose sources are there (anchors.py says how), by the Python in $PYTHON
#   --against PROGRAM an earlier stepsim runs cases and searches in turn with this one
#   --smoke          once, and only what is quick: that it runs, not how fast
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
page=$root/tests/bench/results.md
build=$root/build
every="goals cases searches sweep answers anchors growth"
update=0 smoke=0 options= searches= anchors= count= list=1000 calls=200 answers=2000 parts= quick= before=
while [ $# -gt 0 ]; do
    case $1 in
    --update) update=1 ;;
    --smoke) smoke=1 ;;
    --instructions) options="$options --instructions" count=--instructions ;;
    --part) parts="$parts $2"; shift ;;
    --anchors) anchors=$2; shift ;;
    --against) options="$options --against $2" searches="$searches --against $2" before=$2; shift ;;
    -*) echo "run.sh: unknown option '$1': the first lines of $0 tell all" >&2; exit 2 ;;
    *) build=$1 ;;
    esac
    shift
done
for part in $parts; do
    case " $every " in
    *" $part "*) ;;
    *) echo "run.sh: no part '$part': take one of $every" >&2; exit 2 ;;
    esac
done
if [ $smoke = 1 ]; then
    options="$options --quick" searches=--quick quick=--smoke list=20 calls=5 answers=40
else
    cmake --build "$build" --target stepsim-cli stepsim-shared bench_bounds bench_calls bench_cases bench_search bench_sweep >&2
fi
bench=$build/tests
sh "$root/tests/bench/sweep.sh"
python=${PYTHON:-python3}
[ -n "$anchors" ] || case " $parts " in
*" anchors "*) echo "run.sh: --part anchors needs --anchors FOLDER" >&2; exit 2 ;;
esac

title() {
    case $1 in
    goals) echo "Goals" ;;
    cases) echo "Cases" ;;
    searches) echo "Searches" ;;
    sweep) echo "One configuration inside a sweep" ;;
    answers) echo "One answer" ;;
    anchors) echo "Anchors" ;;
    growth) echo "Growth" ;;
    esac
}

# A part begins with its title and with the machine: a part is of its own hour, beside what ran then.
head_of() {
    echo "## $(title "$1")"
    echo
    echo "$(date -u +%Y-%m-%d), $(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), load before (1, 5, 15 minutes) $(cut -d ' ' -f 1-3 /proc/loadavg). Made by \`sh tests/bench/run.sh build --part $1\`."
    echo
}

goals() {
    cat <<'EOF'
What is asked, what is measured, how many times over it is reached (bold from 1 on), what others took of the processors meanwhile. Counts do not depend on that; times are processor time of all processes, the fastest of
several runs, except for two workers' goals in seconds: "wall" where others took less than 5 %, else half of the processor time. The row of 20 million events is the same work in every table: 0.47 to 0.91 s so far, by which the machines of the tables differ.

EOF
    python3 "$root/tests/bench/goals.py" "$build" "$root" $quick
    cat <<'EOF'

What is right or wrong, not fast or slow, is shown by tests:

| goal | `ctest --test-dir build -R` |
|---|---|
| no change that `explain` proposes and no walk of 200 steps beats a search's best of 30 jobs by more than 1 % | `search.advised` |
| winner, front and what is too close to call of searches with bounds, in nine spaces, are those of `--exhaustive` | `unit.search` |
| `capacity` answers with the best of all numbers of nodes, a range is resumed, racks are whole | `unit.capacity` |
| no order of `schedule search` breaks its cap, 50 shapes and caps | `unit.schedule_search` |
| the same bytes by any number of workers, and over MPI | `unit.deal`, `mpi` |
EOF
}

cases() {
    echo "Whole processes, from parsing to result; the fastest of several runs."
    [ -z "$before" ] || echo "Before: commit $(git -C "$(dirname "$before")" rev-parse --short HEAD), which ran in turn."
    echo
    # shellcheck disable=SC2086
    "$bench/bench_cases" "$build/stepsim" "$root" $options
}

searches() {
    echo "Two workers, from the words to the answer, refused layouts included, without SimGrid's confirmation; the fastest of several runs. Searches of all axes stand under the goals."
    [ -z "$before" ] || echo "Before: commit $(git -C "$(dirname "$before")" rev-parse --short HEAD), which ran in turn."
    echo
    # shellcheck disable=SC2086
    "$bench/bench_search" "$build/stepsim" $searches
    cat <<'EOF'

The search of 100,530 legal layouts (70B on 16 H800 nodes, four switches) predicted 1,878 of them in this table of 2026-11-23, and 2,390, 27 % more, five days later, by the same command. The cause is commit 5f24564f of 2026-11-24: the answer tells
how many layouts are too close to call, and that number must not depend on what else was searched, so that every layout is predicted whose lower bound is within the error of the best. Before, one was skipped as soon as its bound
was above the best found so far, and counted as told apart though nobody had asked. Bounds are tighter since (they count the host, exposed collectives and messages between stages), so that fewer layouts have a bound within that
error: the row above tells how many are predicted now, of more legal layouts, for recompute of 1 to n layers is among them.
EOF
}

sweep() {
    echo "CPU time of one thread, from the words of a job to its result, memory and checks included; tests/bench/sweep.txt."
    echo
    "$bench/bench_sweep" sweep "$root/tests/bench/sweep.txt" $list
    echo
    echo "Mixtures of experts, 30B to 671B on 16 to 2,048 GPUs; tests/bench/sweep-moe.txt."
    echo
    "$bench/bench_sweep" sweep "$root/tests/bench/sweep-moe.txt" $list
}

answers() {
    echo "CPU ms. Jobs of tests/bench/sweep.txt, no two alike, one in five of which does not fit, so that what makes it fit is run too: documents of the page, without HTTP, and of the library as Python calls it."
    echo
    echo "| of | answers | first | median | mean | 99 % below | kB |"
    echo "|---|---|---|---|---|---|---|"
    "$bench/bench_calls" page "$root/tests/bench/sweep.txt" 5 $calls
    "$bench/bench_calls" library "$root/tests/bench/sweep.txt" 5 $calls
    echo
    echo "\`stepsim serve\` over HTTP, goals 3 ms (p50) and 12 ms (p99) of one client, 400 answers a second of twenty; wall times, which other programs lengthen:"
    echo
    python3 "$root/tests/bench/serve.py" "$build/stepsim" "$root/tests/bench/sweep.txt" $answers
}

anchors() {
    echo "Processor time, user and system, the least of pairs that ran in turn; ratio: the other over stepsim."
    echo
    # shellcheck disable=SC2086
    "$python" "$root/tests/bench/anchors.py" "$build/stepsim" "$bench/bench_sweep" "$anchors" $count
    cat <<'EOF'

The configurations in one process differ in the batch alone: those that differ in the turns of the pipeline's loop share one replay.
EOF
}

growth() {
    echo "Instructions of whole runs by callgrind:"
    echo
    python3 "$root/tests/bench/growth.py" "$build/stepsim" "$root" $quick
    echo
    echo "CPU time of Llama-3.1-70B, tp 8 x pp 8 and data-parallel replicas, every microbatch replayed by the native engine; then of Llama-3.1-405B, tp 8 x pp 16."
    if [ $smoke = 1 ]; then "$bench/bench_sweep" scaling --quick; else "$bench/bench_sweep" scaling; fi
}

# The part of the page that has this title, without empty lines at its end.
earlier() {
    awk -v title="## $1" '/^## / { on = $0 == title } on { line[++n] = $0; if ($0 != "") last = n } END { for (i = 1; i <= last; i++) print line[i] }' "$page"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for part in ${parts:-$every}; do
    [ "$part" != anchors ] || [ -n "$anchors" ] || continue
    head_of "$part" > "$work/$part"
    $part >> "$work/$part"
    [ $update = 1 ] || cat "$work/$part"
    [ $update = 1 ] || echo
done
[ $update = 1 ] || exit 0
{
    echo "# Cost of a prediction"
    echo
    echo "Processor time and instructions come first in all tables: other programs of the machine lengthen wall times, and these are told beside what others took of the processors (\"others\"), where 0 is a quiet machine."
    for part in $every; do
        [ -s "$work/$part" ] || earlier "$(title "$part")" > "$work/$part"
        [ ! -s "$work/$part" ] || echo
        cat "$work/$part"
    done
} > "$work/page"
cat "$work/page" > "$page"
cat "$page"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: run.sh [BUILD] [--update] [--smoke] [--instructions] [--against TABLE] [--anchors FOLDER]
# Times the named cases, searches, a sweep of 1,000 configurations and how cost grows; prints tables in Markdown.
#   BUILD           a build folder (build)
#   --update        writes them to tests/bench/results.md, too
#   --smoke         once, and only what is quick: that it runs, not how fast
#   --instructions  counts them with callgrind, which takes minutes
#   --anchors FOLDER  Calculon, SimuMax and LogGOPSim, whose sources are there (anchors.py says how), by the Python in $PYTHON
#   --against TABLE wall times against those of an earlier table; the path of an earlier stepsim: it runs in turn with this one
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$root/build
update=0 smoke=0 options= against= anchors= count= list=1000 calls=200 answers=2000
while [ $# -gt 0 ]; do
    case $1 in
    --update) update=1 ;;
    --smoke) smoke=1 ;;
    --instructions) options="$options --instructions" count=--instructions ;;
    --anchors) anchors=$2; shift ;;
    --against) options="$options --against $2" against=$2; shift ;;
    *) build=$1 ;;
    esac
    shift
done
if [ $smoke = 1 ]; then
    options="$options --quick" list=20 calls=5 answers=40
else
    cmake --build "$build" --target bench_calls bench_cases bench_search bench_sweep >&2
fi
searches=
[ $smoke = 0 ] || searches=--quick
[ ! -x "$against" ] || searches="$searches --against $against"
bench=$build/tests
[ -x "$bench/bench_cases" ] || bench=$build
tables() {
    echo "# Cost of a prediction"
    echo
    echo "Written by tests/bench/run.sh on one core of $(nproc), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)."
    echo "Whole processes, from parsing to result; the fastest of several runs. Load of the machine before (1, 5, 15 min): $(cut -d ' ' -f 1-3 /proc/loadavg)."
    if [ -x "$against" ]; then
        echo "Before: commit $(git -C "$(dirname "$against")" rev-parse --short HEAD), which ran in turn."
    fi
    echo
    # shellcheck disable=SC2086
    "$bench/bench_cases" "$build/stepsim" "$root" $options
    echo
    echo "## Searches"
    echo
    echo "Two workers, from the words to the answer, refused layouts included, without SimGrid's confirmation; the fastest of 5 runs."
    echo
    # shellcheck disable=SC2086
    "$bench/bench_search" "$build/stepsim" $searches
    echo
    echo "## One configuration inside a sweep"
    echo
    echo "CPU time of one thread, from the words of a job to its result, memory and checks included; tests/bench/sweep.txt."
    echo
    "$bench/bench_sweep" sweep "$root/tests/bench/sweep.txt" $list
    echo
    echo "Mixtures of experts, 30B to 671B on 16 to 2,048 GPUs; tests/bench/sweep-moe.txt."
    echo
    "$bench/bench_sweep" sweep "$root/tests/bench/sweep-moe.txt" $list
    echo
    echo "## One answer"
    echo
    echo "Jobs of tests/bench/sweep.txt, no two alike, one in five of which does not fit, so that what makes it fit is run too: documents of the page, without HTTP, and of the library as Python calls it."
    echo
    echo "| of | answers | first, CPU ms | median | mean | 99 % below | kB |"
    echo "|---|---|---|---|---|---|---|"
    "$bench/bench_calls" page "$root/tests/bench/sweep.txt" 5 $calls
    "$bench/bench_calls" library "$root/tests/bench/sweep.txt" 5 $calls
    echo
    echo "\`stepsim serve\` over HTTP, goals 3 ms (p50) and 12 ms (p99) of one client, 400 answers a second of twenty:"
    python3 "$root/tests/bench/serve.py" "$build/stepsim" "$root/tests/bench/sweep.txt" $answers
    echo
    if [ -n "$anchors" ]; then
        echo "## Anchors"
        echo
        echo "Processor time, user and system, in pairs that ran in turn; ratio: the other over stepsim."
        echo
        # shellcheck disable=SC2086
        "${PYTHON:-python3}" "$root/tests/bench/anchors.py" "$build/stepsim" "$bench/bench_sweep" "$anchors" $count
        echo
    fi
    echo "## Growth"
    echo
    echo "Llama-3.1-70B, tp 8 x pp 8 and data-parallel replicas, every microbatch replayed by the native engine; then Llama-3.1-405B, tp 8 x pp 16."
    if [ $smoke = 1 ]; then "$bench/bench_sweep" scaling --quick; else "$bench/bench_sweep" scaling; fi
}
if [ $update = 1 ]; then
    tables > "$root/tests/bench/results.md.new"
    mv "$root/tests/bench/results.md.new" "$root/tests/bench/results.md"
    cat "$root/tests/bench/results.md"
else
    tables
fi

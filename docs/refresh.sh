#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh docs/refresh.sh [PROGRAM]
# Makes the parts of the documents that are output of the program again: run it when predictions change.
set -eu
cd "$(dirname "$0")/.."
program=${1:-build/stepsim}
new=$(mktemp)
trap 'rm -f "$new"' EXIT

sh docs/study-70b-8-vs-16.sh "$program" > "$new"
cp "$new" docs/study-70b-8-vs-16-nodes.md

example() {
    echo '```'
    echo '$ stepsim run --platform h800 --nodes 4 --job workloads/jobs/8b-16.args \'
    echo '      --measured 23570.5ms --measured-memory 72542MiB'
    "$program" run --platform h800 --nodes 4 --job workloads/jobs/8b-16.args \
        --measured 23570.5ms --measured-memory 72542MiB
    echo '```'
}
example > "$new.example"
awk -v file="$new.example" '
    /<!-- example end/ { skip = 0 }
    !skip { print }
    /<!-- example begin/ { while ((getline line < file) > 0) print line; skip = 1 }' README.md > "$new"
rm -f "$new.example"
cp "$new" README.md

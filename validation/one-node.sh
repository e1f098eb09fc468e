#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh validation/one-node.sh PLATFORM OUT.xml [PROBE.csv]
# From one node to a cluster: measures the card of this machine (or takes what PROBE.csv has of it), fits the numbers of PLATFORM to that,
# and writes OUT.xml. docs/guide/one-node.md
set -eu
[ $# -ge 2 ] || { sed -n 's/^# usage/usage/p' "$0" >&2; exit 2; }
base=$1 out=$2 rows=${3:-}
root=$(cd "$(dirname "$0")/.." && pwd)
program=${STEPSIM:-$root/build/stepsim}
if [ -z "$rows" ]; then
    rows=probe.csv
    cmake -S "$root" --preset release > /dev/null
    cmake --build "$root/build" --target stepsim-probe
    "$root/build/stepsim-probe" --gemms 200 -o "$rows"
    if python3 -c "import torch" 2> /dev/null; then
        python3 "$root/validation/probe/kernels.py" --seconds 150 -o "$rows"
        python3 "$root/validation/probe/attention.py" --seconds 150 -o "$rows"
    fi
fi
"$program" calibrate --platform "$base" --microbench "$rows" -o "$out"
echo "next: stepsim run --platform $out --nodes N JOB...; stepsim capacity --platform $out ... (docs/guide/one-node.md)"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: attention.sh PYTHON STEPSIM SOURCE_ROOT
# validation/probe/attention.py with a stand-in for PyTorch and the GPU: its rows, what it says and does where there is no
# PyTorch, a table of another GPU or one begun before, and that `calibrate --microbench` finds the stand-in's rates.
set -eu
python=$1
stepsim=$2
src=$3
here=$src/tests/probe
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
probe() { PYTHONPATH=$path PYTHONDONTWRITEBYTECODE=1 "$python" -S "$src/validation/probe/attention.py" --models models "$@"; }
expect() { # expect WHAT EXPECTED ACTUAL
    [ "$2" = "$3" ] || { printf '%s: expected "%s", got "%s"\n' "$1" "$2" "$3"; exit 1; }
}
mkdir models
echo '{"num_attention_heads": 16, "num_key_value_heads": 2, "hidden_size": 2048}' > models/a.json
echo '{"num_attention_heads": 4, "hidden_size": 256}' > models/b.json

path=
status=0
probe 2> err || status=$?
expect "without PyTorch" "3 1" "$status $(grep -c 'PyTorch is not installed' err)"
path=$here
expect "shapes" 56 "$(probe --list | wc -l)"

probe -o t.csv 2> err
# Two ways each: flash at 7 kinds of heads x 4 lengths, cuDNN without the three kinds whose head is 64.
expect "rows" "$((2 * (7 + 4) * 4 + 1))" "$(wc -l < t.csv)"
expect "what is left out" 1 "$(grep -c 'cuDNN left out 12 times, first b=1 seq=2048 hq=1 hkv=1 d=64 causal: no kernel for this head$' err)"
# 2 x 8192^2 x 16 x 128 FLOP in 1 ms; backward 2.5 times that in 4 ms
expect "forward" 274.878 "$(grep 'FA2 fwd b=1 seq=8192 hq=16 hkv=2 d=128 causal' t.csv | cut -d, -f6)"
expect "backward" 171.799 "$(grep 'cuDNN bwd b=1 seq=8192 hq=16 hkv=2 d=128 causal' t.csv | cut -d, -f6)"

# The same command again measures nothing; a row that is missing comes back.
cp t.csv whole.csv
probe -o t.csv 2> err
cmp t.csv whole.csv
grep -v 'FA2 fwd b=1 seq=8192 hq=16' whole.csv > t.csv
probe -o t.csv 2> err
expect "resumed" "$(sort whole.csv | cut -d, -f1-7)" "$(sort t.csv | cut -d, -f1-7)"
sed 's/NVIDIA H200/NVIDIA H20/' whole.csv > other.csv
cp other.csv kept.csv
status=0
probe -o other.csv 2> err || status=$?
expect "another GPU" "3 1" "$status $(grep -c 'name another file' err)"
cmp other.csv kept.csv

"$stepsim" calibrate --platform h200 --stack megatron-2407 --microbench whole.csv --prop ss.attention.flash.forward \
    --prop ss.attention.flash.backward --prop ss.attention.fused.forward --prop ss.attention.fused.backward > out 2> err
expect "fitted" 4 "$(grep -c '^  ss.attention.*+-' out)"
echo "attention probe: passed"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: without_libxml2.sh PROGRAM PRELOADED SOURCE
# Where libxml2 is not installed, shipped XML is read as ever; any other file is refused by one line, and doctor says why.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$3/platforms/h800.xml" "$dir/own.xml"
echo '<!-- changed -->' >> "$dir/own.xml"
job="--nodes 2 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 32 --stack megatron-2407 --brief"
without() { status=0 && LD_PRELOAD=$2 "$1" $3 > "$dir/out" 2> "$dir/err" || status=$?; }
fail() { echo "without_libxml2.sh: $1: exit status $status: $(cat "$dir/out" "$dir/err")"; exit 1; }

"$1" run --platform h800 $job > "$dir/want"
without "$1" "$2" "run --platform h800 $job"
[ $status = 0 ] && cmp -s "$dir/want" "$dir/out" || fail "a shipped platform"
without "$1" "$2" "run --platform $dir/own.xml $job"
[ $status = 3 ] && [ "$(wc -l < "$dir/err")" = 1 ] && grep -q 'own.xml: error: cannot be read.*install libxml2' "$dir/err" || fail "a changed one"
without "$1" "$2" doctor
[ $status = 1 ] && grep -q 'wrong *libraries *libxml2 is not installed' "$dir/out" || fail doctor

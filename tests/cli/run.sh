#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: run.sh PROGRAM SOURCE_ROOT GROUP...
# Runs each tests/cli/GROUP/NAME.cmd, a shell line, in an empty folder with $STEPSIM = PROGRAM and
# $SRC = SOURCE_ROOT, and compares stdout, stderr and exit status with NAME.out, NAME.err (no file:
# nothing is written) and NAME.exit (no file: 0). In outputs SOURCE_ROOT is written SRC.
# UPDATE=1 rewrites the expected files instead.
set -eu
STEPSIM=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
SRC=$(cd "$2" && pwd)
shift 2
export STEPSIM SRC
LC_ALL=C
export LC_ALL
unset STEPSIM_DATA COLUMNS || true
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
ran=0
failed=0

# Writes or removes one expected file: keep ACTUAL EXPECTED
keep() {
    if [ -s "$1" ]; then cp "$1" "$2"; else rm -f "$2"; fi
}
# same WHAT EXPECTED ACTUAL: prints a diff and returns 1 when they differ
same() {
    expected=$2
    [ -e "$expected" ] || expected=/dev/null
    cmp -s "$expected" "$3" && return 0
    echo "--- $case: $1 differs (- expected, + actual)"
    diff -u "$expected" "$3" | sed 1,2d || true
    return 1
}
run_case() {
    case=$1
    base=${case%.cmd}
    rm -rf "$dir/work"
    mkdir "$dir/work"
    status=0
    (cd "$dir/work" && sh "$case" > "$dir/raw.out" 2> "$dir/raw.err" < /dev/null) || status=$?
    # a slow machine tells how far a long replay is
    sed -i '/^[a-z]*: [0-9.e+-]* % after [0-9]* s$/d' "$dir/raw.err"
    for stream in out err; do
        sed "s|$SRC|SRC|g" "$dir/raw.$stream" > "$dir/$stream"
    done
    if [ "$status" = 0 ]; then : > "$dir/exit"; else echo "$status" > "$dir/exit"; fi
    if [ -n "${UPDATE:-}" ]; then
        for what in out err exit; do keep "$dir/$what" "$base.$what"; done
        return 0
    fi
    good=0
    for what in out err exit; do
        same "$what" "$base.$what" "$dir/$what" || good=1
    done
    return $good
}
for group in "$@"; do
    for file in "$SRC/tests/cli/$group"/*.cmd; do
        [ -e "$file" ] || continue
        ran=$((ran + 1))
        run_case "$file" || failed=$((failed + 1))
    done
done
echo "$ran commands, $failed failed"
[ "$failed" = 0 ] && [ "$ran" -gt 0 ]

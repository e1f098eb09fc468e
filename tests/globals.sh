#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: globals.sh LIBRARY.a
# The library keeps nothing between calls: no object of it has data that can be written, at file or function scope.
# Tables of pointers, which only the loader of programs fills in (.data.rel.ro), are constants.
set -eu
table=$(mktemp)
trap 'rm -f "$table"' EXIT
objdump -t "$1" > "$table"
grep -q ss_run_scenario "$table" || { echo "globals.sh: $1 is not the library"; exit 1; }
# A line is "value flags section <tab> size name".
awk -F '\t' '
    /file format/ { object = $1; sub(/:.*/, "", object) }
    NF == 2 {
        n = split($1, left, / +/)
        section = left[n]
        split($2, right, / +/)
        if (section ~ /^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)/ && section !~ /^\.data\.rel\.ro/ && right[2] != section) {
            printf "%s: %s can be written (%s)\n", object, right[2], section
            bad = 1
        }
    }
    END { exit bad }' "$table"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: globals.sh LIBRARY.a OBJECT...
# The library keeps nothing between calls: no object of it has data that can be written, at file or function scope.
# Tables of pointers, which only the loader of programs fills in (.data.rel.ro), are constants.
# The objects are the program's, which keeps what a signal or a process of MPI needs; cli_main leaves it as it was.
set -eu
table=$(mktemp)
trap 'rm -f "$table"' EXIT
library=$1
shift
objdump -t "$library" "$@" > "$table"
grep -q ss_run_scenario "$table" || { echo "globals.sh: $library is not the library"; exit 1; }
# A line is "value flags section <tab> size name".
awk -F '\t' '
    BEGIN { kept["common start"] = kept["outputs inputs"] = kept["outputs unfinished"] = kept["team team"] = kept["team told"] = kept["watch watched"] = 1 }
    /file format/ { object = $1; sub(/:.*/, "", object) }
    NF == 2 {
        n = split($1, left, / +/)
        section = left[n]
        split($2, right, / +/)
        program = object ~ /\/cli\// ? object : ""
        sub(/.*\//, "", program)
        sub(/\.c\.o.*/, "", program)
        name = right[2]
        sub(/\.[0-9]+$/, "", name)
        if (section ~ /^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)/ && section !~ /^\.data\.rel\.ro/ && right[2] != section && !((program " " name) in kept)) {
            printf "%s: %s can be written (%s)\n", object, right[2], section
            bad = 1
        }
    }
    END { exit bad }' "$table"

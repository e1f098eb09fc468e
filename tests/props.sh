#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: props.sh SOURCE
# Every prop of a stack is read by the model and named by its whole id in docs/reference/model.md.
set -eu
cd "$1"
rows=$(sed -n 's/^    X(\([a-z0-9_]*\), "\(ss\.[a-z0-9_.]*\)".*/\1 \2/p' sim/model/include/stepsim/stack.h)
[ -n "$rows" ] || { echo "no rows of SS_STACK_PROPS found"; exit 1; }
echo "$rows" | {
    status=0
    while read -r field id; do
        grep -rqE "(->|\.)$field\>" sim --include='*.c' || { echo "$id: no code reads $field"; status=1; }
        grep -qF "\`$id\`" docs/reference/model.md || { echo "$id: docs/reference/model.md does not name it"; status=1; }
    done
    exit $status
}

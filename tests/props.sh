#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: props.sh SOURCE
# The registry (aliases apart) tells every prop once, so no other code spells an id; every prop of a stack is read by the model and named
# by its whole id in docs/reference/model.md, every other one in docs/reference/formats-platform.md.
set -eu
cd "$1"
registry=sim/params/include/stepsim
ids=$(sed -n 's/^    X([A-Za-z0-9_]*, "\(ss\.[a-z0-9_.]*\)",.*/\1/p' $registry/*.h | sort)
[ "$(echo "$ids" | wc -l)" -gt 100 ] || { echo "the rows of the registry were not found"; exit 1; }
again=$(echo "$ids" | uniq -d)
[ -z "$again" ] || { echo "told twice: $again"; exit 1; }
for id in $ids; do
    ! grep -rnF "\"$id\"" sim --include='*.c' || { echo "use SS_PROP_ of that row"; exit 1; }
done
for id in $(sed -n 's/^    X([A-Za-z0-9_]*, "\(ss\.[a-z0-9_.]*\)",.*/\1/p' $registry/card.h $registry/curve_props.h $registry/params.h); do
    grep -qF "\`$id\`" docs/reference/formats-platform.md ||
        grep -qF "\`.${id##*.}\`" docs/reference/formats-platform.md ||
        { echo "$id: docs/reference/formats-platform.md does not name it"; exit 1; }
done
rows=$(sed -n 's/^    X(\([a-z0-9_]*\), "\(ss\.[a-z0-9_.]*\)",.*/\1 \2/p' sim/params/include/stepsim/stack_props.h)
[ -n "$rows" ] || { echo "no rows of SS_STACK_PROPS found"; exit 1; }
echo "$rows" | {
    status=0
    while read -r field id; do
        grep -rqE "(->|\.)$field\>" sim --include='*.c' || { echo "$id: no code reads $field"; status=1; }
        grep -qF "\`$id\`" docs/reference/model.md || { echo "$id: docs/reference/model.md does not name it"; status=1; }
    done
    exit $status
}

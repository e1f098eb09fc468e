#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: walk.sh SOURCE_ROOT BUILD_DIR|- WALK.patch FILE...
# A change that the house must take easily: WALK.patch touches these files of sim/ and no other, they and the test that it brings,
# tests/unit/test_walk.c, compile. With a BUILD_DIR also: all that the patch reaches compiles, and the test passes, linked to the
# library there for the rest.
set -eu
source=$1 build=$2 patch=$3
shift 3
cc=${CC:-cc}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cp -R "$source/sim" "$dir/sim"
mkdir -p "$dir/tests"
cp -R "$source/tests/unit" "$dir/tests/unit"
cd "$dir"
patch -s -p1 < "$patch" || { echo "$patch does not apply: make it anew from the house of today"; exit 1; }

touched=$(sed -n 's#^+++ b/##p' "$patch" | grep -v '^tests/' | sort)
expected=$(printf '%s\n' "$@" | sort)
if [ "$touched" != "$expected" ]; then
    printf 'the walk touches\n%s\ninstead of\n%s\n' "$touched" "$expected"
    exit 1
fi

libraries="libxml-2.0 hwloc jansson zlib yaml-0.1 cminpack cunit"
# shellcheck disable=SC2046,SC2086 # lists of words
flags="-std=c11 -O0 -ffp-contract=off -Wall -Wextra -Werror -D_GNU_SOURCE -DSS_SOURCE_DIR=\"$source\" -DSS_VERSION=\"\" -Itests/unit
    $(for room in $(cat sim/rooms.txt); do echo "-Isim/$room/include"; done) $(pkg-config --cflags $libraries)"
# shellcheck disable=SC2046,SC2086
$cc $flags -fsyntax-only tests/unit/test_walk.c $(printf '%s\n' $touched | grep '\.c$')
[ "$build" != - ] || exit 0

# shellcheck disable=SC2046,SC2086
$cc $flags -MM $(find sim -name '*.c' ! -path 'sim/cli/*' ! -name 'simgrid*.c' ! -name '*_without.c' ! -name data.c ! -name replay.c) |
    sed ':a; /\\$/ { N; s/\\\n//; ba }' > rules
reached=$(for file in $touched; do grep -F " $file" rules || true; done | awk '{ print $2 }' | sort -u)
mkdir objects
# shellcheck disable=SC2086
for file in tests/unit/test_walk.c $reached; do
    echo "-c $file -o objects/$(echo "$file" | tr / _).o"
done | xargs -P 4 -L 1 $cc $flags
# shellcheck disable=SC2046,SC2086
$cc objects/*.o "$build/libstepsim.a" $(pkg-config --libs $libraries) -lm -ldl -o walk
STEPSIM_DATA=$source ./walk > out 2>&1 || { cat out; exit 1; }

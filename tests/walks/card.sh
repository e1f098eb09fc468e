#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: card.sh SOURCE_ROOT PROGRAM WALK.patch FILE...
# A card with another fabric and another library is data: WALK.patch touches these files, none of them of sim/, and the program answers
# with them, names both, and reads the library's numbers and the fabric's links.
set -eu
source=$1 program=$2 patch=$3
shift 3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cp -R "$source/platforms" "$source/workloads" "$source/validation" "$dir"
cd "$dir"
patch -s -p1 < "$patch" || { echo "$patch does not apply: make it anew from the house of today"; exit 1; }
touched=$(sed -n 's#^+++ b/##p' "$patch" | sort)
expected=$(printf '%s\n' "$@" | sort)
if [ "$touched" != "$expected" ] || echo "$touched" | grep -q '^sim/'; then
    printf 'the walk touches\n%s\ninstead of\n%s\n' "$touched" "$expected"
    exit 1
fi

STEPSIM_DATA=$dir
export STEPSIM_DATA
# A large global batch keeps the time above its last digit; --tp 2 is on one of three links of 100 GB/s.
job="--nodes 1 --model llama3.2-1b --bf16 --seq 4096 --mbs 1 --gbs 64 --tp 2"
says() { # FILE TEXT
    grep -qF -e "$2" "$1" || { echo "no '$2' in"; cat "$1"; exit 1; }
}
ms() { # WORDS...: of an iteration
    # shellcheck disable=SC2086 # words
    "$program" run --platform "$@" $job --json | sed -n 's/^ *"iteration_ms": \([0-9.]*\),*$/\1/p'
}

"$program" platform check platforms/example.xml > check
says check "ok: 2 nodes x 4 x Example-96GB"
"$program" platform show example > show
says show "XLink 300 GB/s a GPU and direction"
says show "collectives of XCCL"
# shellcheck disable=SC2086 # words
"$program" run --verbose --platform example $job > answer
says answer "GPUs of a node on XLink, collectives of XCCL"
says answer "Busiest link: fabric-0-0-"

base=$(ms example)
wider=$(ms example --set ss.fabric.bandwidth=200GBps)
sed -i 's/<prop id="ss.library" value="example"\/>//' platforms/cards/example.xml
nccl=$(ms example)
echo "$base $wider $nccl" | awk '{ exit !($1 > 1.01 * $2 && $1 > 1.0001 * $3 && $3 > 0) }' ||
    { echo "iterations of $base ms, $wider with wider links, $nccl by NCCL: they should fall"; exit 1; }

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: static.sh PROGRAM [OTHER]
# The static program alone: below 20 MB, without a loader, in an empty folder that is its whole root where chroot is allowed (root, or
# namespaces of a user), else with an empty environment. What it says of run, search, capacity, validate and calibrate is, to the last byte, what
# OTHER says (any other build, which runs from its sources), and it serves its page.
set -eu
program=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
other=${2:+$(realpath "$2")}
size=$(stat -c %s "$program")
[ "$size" -lt 20000000 ] || { echo "static.sh: error: $program has $size bytes" >&2; exit 1; }
if readelf -lW "$program" | grep -q INTERP || readelf -dW "$program" | grep -q NEEDED; then
    echo "static.sh: error: $program needs a loader or libraries" >&2
    exit 1
fi
folder=$(mktemp -d "${TMPDIR:-/tmp}/stepsim-static-XXXXXX")
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/root"
cp "$program" "$folder/root/stepsim"
if [ "$(id -u)" = 0 ] && chroot "$folder/root" /stepsim version > /dev/null 2>&1; then
    how="an empty chroot"
    before="$(command -v chroot) $folder/root /stepsim"
elif unshare --user --map-root-user chroot "$folder/root" /stepsim version > /dev/null 2>&1; then
    how="an empty chroot of a user's namespace"
    before="$(command -v unshare) --user --map-root-user $(command -v chroot) $folder/root /stepsim"
else
    how="an empty folder and environment"
    before=./stepsim
fi
# shellcheck disable=SC2086 # a list of words
alone() { (cd "$folder/root" && env -i $before "$@"); }

job="--platform h800 --model llama3.1-8b --bf16 --use-distributed-optimizer --seq 4096 --gbs 64"
# same WORD...: the words give the same document here and there
same() {
    alone "$@" --json > "$folder/alone" || { echo "static.sh: error: $*: status $?" >&2; exit 1; }
    [ -s "$folder/alone" ] || { echo "static.sh: error: $*: nothing said" >&2; exit 1; }
    [ -z "$other" ] && return
    (cd "$folder/root" && LC_ALL=C "$other" "$@" --json) > "$folder/other" || true
    for side in alone other; do grep -v '^ *"file":' "$folder/$side" > "$folder/$side.text"; done # where data lies is another place
    cmp "$folder/alone.text" "$folder/other.text" || { echo "static.sh: error: $* says something else than $other" >&2; exit 1; }
}
# shellcheck disable=SC2086 # lists of words
{
    same run --job 8b-16 --engine native
    same run $job --nodes 2 --tp 2 --mbs 1 --engine native --level flow
    same search $job --nodes 1,2 --unconfirmed
    same capacity $job --tokens 10B --nodes 1..2 --deadline 90d
    same validate
    same list models
    printf '%s\n' kind,gpu,shape_or_bytes,ranks/nodes,precision,measured\ value,unit,source \
        'attention,H100,FA2 fwd seq=8192 d=128 causal,1 GPU,bf16,330,TFLOP/s,x' > "$folder/root/kernels.csv"
    if [ -z "${STEPSIM_NO_CALIBRATE:-}" ]; then
        same calibrate --platform h100 --stack megatron-2407 --microbench kernels.csv
        same calibrate --platform v100 --stack megatron-2021 --rows runs --prop ss.attention.unfused.passes_forward=2:20
    fi
    (cd "$folder/root" && env -i PATH="$PATH" python3 "$here/page.py" $before)
}
alone doctor > "$folder/doctor" || { cat "$folder/doctor"; echo "static.sh: error: doctor finds something wrong" >&2; exit 1; }
[ "$(grep -c "inside the program" "$folder/doctor")" = 2 ] || { cat "$folder/doctor"; echo "static.sh: error: not data and web server inside" >&2; exit 1; }
alone run --job 8b-16 --brief
# Files of the user's own go first.
mkdir -p "$folder/root/own/platforms"
sed 's/H800-80GB/H800-81GB/' "$(dirname "$0")/../../platforms/h800.xml" > "$folder/root/own/platforms/mine.xml"
(cd "$folder/root" && STEPSIM_DATA="$folder/root/own" ./stepsim list platforms) | grep -q '^ *mine '
echo "static.sh: passed: $size bytes, in $how"

# SPDX-License-Identifier: Apache-2.0
# What the scripts that write pages share; sourced: `. "$(dirname "$0")/pages.sh"`. Sets $program (the script's first word, or build/stepsim) and $dir, an
# empty folder for results that goes with the script; goes to the top of the tree.
set -eu
LC_ALL=C
export LC_ALL
program=$(realpath "${1:-$(dirname "$0")/../../build/stepsim}")
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# result FILE WORD...: what the program says goes to $dir/FILE. That a job does not fit (1) is an answer.
result() {
    file=$dir/$1
    shift
    status=0
    "$program" "$@" > "$file" || status=$?
    [ "$status" -le 1 ] || { cat "$file" >&2; exit "$status"; }
}
# value FILE KEY: the first value of that key, at any depth
value() {
    awk -v key="\"$2\":" '$1 == key { gsub(/[",]/, "", $2); print $2; exit }' "$dir/$1"
}
# part FILE LABEL: ms of that label in breakdown_ms
part() {
    awk -v key="\"$2\":" '/"breakdown_ms":/ { inside = 1 }
        inside && $1 == key { sub(/,/, "", $2); print $2; exit }' "$dir/$1"
}
verdict() { # FILE
    awk '$1 == "\"verdict\":" { sub(/^[^:]*: /, ""); gsub(/[",]/, ""); print; exit }' "$dir/$1"
}
calc() { # FORMAT EXPRESSION
    awk "BEGIN { printf \"$1\", $2 }"
}

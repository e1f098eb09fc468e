#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: self.sh UNIT_SELF
# The program of a room's unit tests names the suites that fail or crash, runs the others, and fails.
set -u
program=$1 bad=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# expect STATUS WORD...: the exit status of the program with these words; its output is in $dir
expect() {
    wanted=$1
    shift
    "$program" "$@" > "$dir/out" 2> "$dir/err"
    got=$?
    [ "$got" = "$wanted" ] || { echo "unit_self $*: exit status $got in place of $wanted"; bad=1; }
}

# says FILE TEXT
says() {
    grep -qF "$2" "$dir/$1" || { echo "std$1 lacks \"$2\":"; cat "$dir/$1"; bad=1; }
}

expect 1
says err "suite crashes: ended by signal 6"
says err "suite fails: failed, exit status 1"
says err "suite empty: failed, exit status 1"
says err "suite nowhere: failed, exit status 1"
says out "word 0: passes"
! grep -qE "suite (passes|apart)" "$dir/err" || { echo "what passes is told as failed"; bad=1; }
expect 0 passes more
says out "word 1: more"
expect 1 fails
expect 2 absent
says err 'there is no suite "absent" here'
expect 0 --list
[ "$(tr '\n' ' ' < "$dir/out")" = "apart crashes fails empty nowhere passes " ] || { echo "--list:"; cat "$dir/out"; bad=1; }
exit $bad

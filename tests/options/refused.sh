#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: refused.sh PROGRAM SOURCE_ROOT [N]
# Of the table of options ("stepsim help --options"): every verb refuses each option that it does not have with status 2 and
# one line on stderr that names it, reads each that it has, wants its value, and takes none where there is none. With N each verb is asked
# an Nth of the options that it does not have, each verb others.
set -eu
program=$1 nth=${3:-1} turn=0
LC_ALL=C
export LC_ALL
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$program" help --options > "$dir/rows"
# Flags of a job, by the page that is made of their table.
sed -n 's/^| `\(--[^`]*\)` |.*/\1/p' "$2/docs/reference/flags.md" > "$dir/flags"
[ -s "$dir/flags" ]
job="--platform h800 --nodes 1 --model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 8"
bad=0
asked=0

# ask WHAT OPTION WORD...: runs the words, which must be refused by a line that names the option
ask() {
    what=$1 option=$2
    shift 2
    asked=$((asked + 1))
    status=0
    "$program" "$@" > "$dir/out" 2> "$dir/err" < /dev/null || status=$?
    if [ "$option" = --json ] && [ -s "$dir/out" ]; then # asked for as JSON, on stdout
        grep '"message"' "$dir/out" > "$dir/err" || true
        : > "$dir/out"
    fi
    # Read without a process: there are thousands of these.
    { IFS= read -r line && ! IFS= read -r rest; } < "$dir/err" || line=
    case $status:$line in
    2:*"$option"*) [ -s "$dir/out" ] || return 0 ;;
    esac
    echo "$*: $what: status $status"
    cat "$dir/err"
    bad=1
}
# of_own: misuse of $option, which the verb has with $value, $kind and $several of its row
of_own() {
    # shellcheck disable=SC2086 # words of a command
    case $kind in
    flag)
        [ "$value" = - ]
        ask "a value of an option without one" "$option" $words "$option=1"
        return
        ;;
    number | choice | form) ask "a bad value" "$option" $words "$option" "no:such" ;;
    file | text) ask "an empty value" "$option" $words "$option=" ;;
    *) echo "$option: kind $kind" && bad=1 ;;
    esac
    # shellcheck disable=SC2086
    ask "no value" "$option" $words "$option"
    # shellcheck disable=SC2086
    [ "$several" != once ] || ask "$option is given twice" "$option is given twice" $words "$option" a "$option" a
}
cut -f 1-3 "$dir/rows" | sort -u > "$dir/verbs"
# An option, and a value if one of its rows takes one.
awk -F '\t' '!($4 in value) || value[$4] == "-" { value[$4] = $6 } END { for (o in value) print o "\t" value[o] }' "$dir/rows" |
    sort > "$dir/options"
tab=$(printf '\t')
while IFS="$tab" read -r command verb form; do
    words=$command
    [ "$verb" = - ] || words="$command $verb"
    [ "$form" = - ] || words="$words $job"
    # Each option with its value, and its row of this verb: value, kind and how often, or a dash.
    awk -F '\t' -v c="$command" -v v="$verb" -v f="$form" 'NR == FNR {
            if ($1 == c && $2 == v && $3 == f) own[$4] = $6 "\t" $7 "\t" $8
            next
        }
        { print $1 "\t" ($1 in own ? own[$1] : $2 "\t-\t-") }' "$dir/rows" "$dir/options" > "$dir/asked"
    while IFS="$tab" read -r option value kind several; do
        if [ "$kind" != - ]; then
            case $option in --help | --complete) continue ;; esac
            of_own
            continue
        fi
        # Of a verb with two forms these choose the one with a job.
        case $command,$verb,$option in schedule,compare,--job | schedule,compare,--platform) continue ;; esac
        case $command,$verb,$option in schedule,search,--job | schedule,search,--platform) continue ;; esac
        # Flags of the job are the job's.
        [ "$form" = - ] || ! grep -q -x -e "$option" "$dir/flags" || continue
        turn=$(((turn + 1) % nth))
        [ "$turn" = 0 ] || continue
        [ "$value" = - ] && value= || value=1
        # shellcheck disable=SC2086
        ask "not of this verb" "$option" $words "$option" $value
    done < "$dir/asked"
done < "$dir/verbs"
echo "$asked times refused"
[ "$asked" -gt 500 ] && [ "$bad" = 0 ]

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: pages.sh PROGRAM PAGES_FOLDER
# Manual pages that the build made: one a command, without a warning of groff, with every option of their verbs; the completion
# scripts are understood by those of their shells that are here, and bash's is exercised.
set -eu
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
pages=$2
LC_ALL=C
export LC_ALL
bad=0
tab=$(printf '\t')
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "pages.sh: $*"
    bad=1
}

"$program" help --options > "$dir/rows"
for command in $(cut -f 1 "$dir/rows" | sort -u); do
    case $command in help | version) continue ;; esac
    page=$pages/man1/stepsim-$command.1
    [ -s "$page" ] || { fail "no page of $command"; continue; }
    sed 's/\\-/-/g; s/\\f.//g' "$page" > "$dir/plain"
    for option in $(grep "^$command$tab" "$dir/rows" | cut -f 4 | sort -u); do
        grep -q -e "^$option\($\|[ ,]\)" "$dir/plain" || fail "$page lacks $option"
    done
    grep -q "stepsim-$command" "$pages/man1/stepsim.1" || grep -q "stepsim.-$command" "$pages/man1/stepsim.1" ||
        fail "stepsim.1 does not name $command"
done
cut -f 1-2 "$dir/rows" | sort -u > "$dir/verbs"
while IFS="$tab" read -r command verb; do
    [ "$verb" != - ] || verb=
    # shellcheck disable=SC2086 # no verb is no word
    "$program" help "$command" $verb > "$dir/help"
    grep -q "stepsim $command${verb:+ $verb}" "$dir/help" || fail "help $command $verb has no usage"
    sed '1,/^example:/d' "$dir/help" | grep -q "stepsim $command${verb:+ $verb}" ||
        [ "$command" = help ] || fail "help $command $verb has no example"
done < "$dir/verbs"
if command -v groff > /dev/null && echo '.TH A 1' | groff -man -Tascii -z > /dev/null 2>&1; then
    for page in "$pages"/man1/*.1; do
        groff -ww -man -Tascii -z "$page" 2> "$dir/warnings" || fail "$page: groff refuses it"
        [ ! -s "$dir/warnings" ] || { fail "$page"; cat "$dir/warnings"; }
    done
fi
if command -v zsh > /dev/null; then zsh -n "$pages/completion/_stepsim" || fail "zsh"; fi
if command -v fish > /dev/null; then fish -n "$pages/completion/stepsim.fish" || fail "fish"; fi
for shell in bash:stepsim.bash zsh:_stepsim fish:stepsim.fish; do
    "$program" help --completion "${shell%%:*}" | cmp -s - "$pages/completion/${shell#*:}" || fail "${shell#*:}"
done

if command -v bash > /dev/null; then
    cat > "$dir/ask.bash" << 'END'
source "$1"
export PATH="$2:$PATH"
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
while IFS= read -r COMP_LINE; do
    COMP_POINT=${#COMP_LINE} COMPREPLY=()
    _stepsim 2> /dev/null
    echo "$COMP_LINE> ${COMPREPLY[*]}"
done
END
    cat > "$dir/lines" << 'END'
stepsim sch
stepsim schedule s
stepsim run --engine 
stepsim run --engine=n
stepsim run --recompute-meth
stepsim run --recompute-method 
stepsim run --platform h8
stepsim run --model llama3.1-7
stepsim run --gantt 
stepsim plan --eng
stepsim sweep --vary nod
stepsim run --set ss.nic.ef
stepsim schedule show zb-
stepsim schedule search --microb
stepsim schedule search --platform h800 --wid
stepsim list 
stepsim help platform 
stepsim nosuch 
END
    cat > "$dir/wanted" << 'END'
stepsim sch> schedule
stepsim schedule s> show search
stepsim run --engine > native simgrid
stepsim run --engine=n> native
stepsim run --recompute-meth> --recompute-method
stepsim run --recompute-method > uniform block
stepsim run --platform h8> h800
stepsim run --model llama3.1-7> llama3.1-70b
stepsim run --gantt > 
stepsim plan --eng> 
stepsim sweep --vary nod> nodes=
stepsim run --set ss.nic.ef> ss.nic.efficiency=
stepsim schedule show zb-> zb-h1 zb-h2 zb-v zb-interleaved
stepsim schedule search --microb> --microbatches
stepsim schedule search --platform h800 --wid> --width
stepsim list > models platforms cards stacks schedules props
stepsim help platform > show draw check new import
stepsim nosuch > 
END
    bash "$dir/ask.bash" "$pages/completion/stepsim.bash" "$(dirname "$program")" < "$dir/lines" > "$dir/answers" 2>&1
    diff "$dir/wanted" "$dir/answers" || fail "bash completes otherwise"
fi
[ "$bad" = 0 ]

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: hardening.sh ARCHITECTURE FILE...
# Whether programs and modules were linked as SECURITY.md says, by what readelf finds in them.
set -eu
architecture=$1
shift
status=0
# wants WHAT PATTERN: what readelf says of $file has such a line
wants() {
    printf '%s\n' "$found" | grep -q -- "$2" && return
    echo "$file: not $1"
    status=1
}
for file in "$@"; do
    found=$(readelf --wide --program-headers --dynamic --syms --file-header "$file")
    case $file in
    *.so*) ;;
    *) wants "position independent" 'Flags:.*PIE' ;;
    esac
    wants "bound when it starts (-z now)" 'Flags:.*NOW'
    wants "read-only after relocation (-z relro)" 'GNU_RELRO'
    wants "without an executable stack" 'GNU_STACK .* RW '
    wants "protected on its stack" '__stack_chk_fail'
    wants "checked by FORTIFY" '__[a-z]*printf_chk'
    if [ "$architecture" = x86_64 ]; then # each of our functions begins so, if it may be called by a pointer
        marks=$(objdump -d --no-show-raw-insn "$file" | grep -c endbr64 || true)
        [ "$marks" -ge 5 ] || { echo "$file: not protected in its control flow: $marks marks"; status=1; }
    fi
done
exit $status

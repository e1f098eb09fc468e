# SPDX-License-Identifier: Apache-2.0
# Sourced by the commands of this group. The line of the damage is printed as LINE, so that the
# expected texts stay when a platform gets another prop.

# damage PATTERN TEXT: bad.xml is h800, written in full, with PATTERN replaced by TEXT in the first line that has it
damage() {
    "$STEPSIM" platform show h800 --xml > good.xml
    awk -v pattern="$1" -v text="$2" '
        !done && $0 ~ pattern { sub(pattern, text); done = 1; print NR > "line" }
        { print }' good.xml > bad.xml
}
# check [OPTION...]: what the program says of bad.xml; exits as it does
check() {
    status=0
    "$STEPSIM" platform check "$@" bad.xml > out 2> err || status=$?
    cat out
    sed -e "s/bad.xml:$(cat line):/bad.xml:LINE:/" -e 's/bad.xml:[0-9][0-9]*:/bad.xml:OTHER LINE:/' \
        -e 's/line [0-9][0-9]*/line N/g' err >&2
    exit "$status"
}

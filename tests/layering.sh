#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: layering.sh SOURCE_ROOT
# Who may include whom (docs/design/design.md, section 2). Prints every violation; exit 1 if there is one.
set -eu
cd "$1"
LC_ALL=C
export LC_ALL
pairs=$(mktemp)
trap 'rm -f "$pairs"' EXIT

order=$(cat sim/rooms.txt)

find sim -name '*.[ch]' | sort | xargs awk -v pairs="$pairs" -v order_list="$(echo $order)" '
function fail(why) {
    printf "%s:%d: layering: %s\n", FILENAME, FNR, why
    bad = 1
}
# A header as an include line names it: which file that is, or "".
function find(name, i, file) {
    for (i = n; i >= 1; i--) {
        file = "sim/" order[i] "/include/" name
        if ((getline unused < file) >= 0) {
            close(file)
            return file
        }
    }
    return ""
}
function room_of(file, part) {
    split(file, part, "/")
    return part[2]
}
BEGIN {
    n = split(order_list, order, " ")
    for (i = 1; i <= n; i++)
        level[order[i]] = i
}
FNR == 1 {
    room = room_of(FILENAME)
    public = FILENAME ~ /^sim\/[a-z]+\/include\/stepsim\//
    if (!(room in level))
        fail("no room owns this file; add its room to sim/rooms.txt")
    if (FILENAME ~ /\.h$/ && FILENAME !~ "^sim/" room "/include/(stepsim|" room ")/")
        fail("a header belongs in sim/" room "/include/stepsim (public) or sim/" room "/include/" room)
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    name = quoted[2]
    target = find(name)
    to = room_of(target)
    if (target == "")
        fail("\"" name "\" is in no include folder of a room; include it as \"room/name.h\"")
    else if (level[to] > level[room])
        fail(room " may not include \"" name "\" of the higher room " to)
    if (public && name !~ /^stepsim\//)
        fail("a public header may not include the private \"" name "\"")
    if (room == "cli" && !public && name !~ /^(stepsim|cli)\//)
        fail("the program uses public headers only, as any outside program could")
    if (name == "stepsim/stepsim.h" && room != "cli")
        fail("a room includes the headers that it needs, not stepsim.h")
    print FILENAME, target > pairs
    next
}
/^[ \t]*#[ \t]*include[ \t]*</ {
    name = $0
    sub(/^[^<]*</, "", name)
    sub(/>.*/, "", name)
    if (public && name !~ /^(std[a-z]*|math|inttypes)\.h$/)
        fail("a public header may not include <" name ">")
    if (name ~ /^(libxml|libxml2)\// && FILENAME != "sim/base/xml.c")
        fail("only sim/base/xml.c uses libxml2")
    if (name ~ /^hwloc/ && FILENAME != "sim/platform/hwloc_import.c")
        fail("only sim/platform/hwloc_import.c uses hwloc")
    if (name ~ /cminpack/ && FILENAME != "sim/study/fit.c")
        fail("only sim/study/fit.c uses cminpack")
    if (name ~ /^(simgrid|xbt)/ && FILENAME !~ /^sim\/replay\/(include\/replay\/)?simgrid[^\/]*\.[ch]$/)
        fail("only sim/replay/simgrid*.c uses SimGrid")
    if (name == "microhttpd.h" && FILENAME != "sim/serve/http.c")
        fail("only sim/serve/http.c uses libmicrohttpd")
    if (name == "mpi.h" && FILENAME != "sim/workers/mpi.c")
        fail("only sim/workers/mpi.c uses MPI")
    if (name == "zlib.h" && FILENAME != "sim/base/gzip.c")
        fail("only sim/base/gzip.c uses zlib")
    if (name == "yaml.h" && FILENAME != "sim/import/tree_yaml.c")
        fail("only sim/import/tree_yaml.c uses libyaml")
    if (name ~ /^stepsim\// || name ~ /\.c$/)
        fail("write own headers with quotes")
}
END { exit bad }
' || exit 1

# A cycle of includes makes tsort complain.
if ! loops=$(tsort "$pairs" 2>&1 >/dev/null) || [ -n "$loops" ]; then
    echo "layering: cycle of includes:"
    echo "$loops"
    exit 1
fi

# What a room must not see, whichever way a header might come: reaches FILE PATTERN.
cc=${CC:-cc}
folders=$(for room in $order; do [ ! -d "sim/$room/include" ] || echo "-Isim/$room/include"; done)
reaches() {
    # shellcheck disable=SC2086 # a list of words
    echo "#include \"$1\"" | "$cc" -D_GNU_SOURCE -I. $folders -MM -x c - |
        grep -qE "$2"
}
for header in sim/program/include/*/*.h sim/replay/include/*/*.h; do
    case $header in */simgrid.h) continue ;; esac # includes SimGrid's own
    if [ -f "$header" ] && reaches "${header#sim/*/include/}" 'stepsim/(job|model|stack)\.h'; then
        echo "$header: layering: program and replay know no job, but this reaches stepsim/job.h"
        exit 1
    fi
done
for file in sim/plan/*.c; do
    if [ -f "$file" ] && reaches "$file" '(layers/(operators|shape|kinds)|cost/(cost|layer_set|memory))\.h'; then
        echo "$file: layering: the plan sees no operators, only cost/rank_cost.h, but this reaches them"
        exit 1
    fi
done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: layering.sh SOURCE_ROOT
# Who may include whom (docs/design.md, section 2). Prints every violation; exit 1 if there is one.
set -eu
cd "$1"
LC_ALL=C
export LC_ALL
pairs=$(mktemp)
trap 'rm -f "$pairs"' EXIT

find sim -name '*.[ch]' | sort | xargs awk -v pairs="$pairs" '
function fail(why) {
    printf "%s:%d: layering: %s\n", FILENAME, FNR, why
    bad = 1
}
# Room of a file below sim/, or of a public header by its topic.
function room_of(file, part, topic) {
    split(file, part, "/")
    if (part[2] != "include")
        return part[2]
    topic = part[4]
    sub(/\.h$/, "", topic)
    return topic in owner ? owner[topic] : ""
}
BEGIN {
    n = split("base platform workload replay report study cli", order, " ")
    for (i = 1; i <= n; i++)
        level[order[i]] = i
    owners = "error:base types:base platform:platform model:workload job:workload stack:workload"
    owners = owners " schedule:workload plan:workload program:workload replay:replay result:replay"
    owners = owners " report:report pictures:report study:study"
    owners = owners " schedule_study:study sweep:study stepsim:cli"
    n = split(owners, list, " ")
    for (i = 1; i <= n; i++) {
        split(list[i], pair, ":")
        owner[pair[1]] = pair[2]
    }
}
FNR == 1 {
    room = room_of(FILENAME)
    public = FILENAME ~ /^sim\/include\//
    if (!(room in level))
        fail("no room owns this file; add its room or topic to tests/layering.sh")
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    name = quoted[2]
    target = name ~ /^stepsim\// ? "sim/include/" name : "sim/" name
    to = room_of(target)
    if ((getline unused < target) < 0)
        fail("\"" name "\" is no file below sim/include or sim; include it as \"room/name.h\"")
    else
        close(target)
    if (!(to in level))
        fail("\"" name "\" belongs to no known room")
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
    if (name ~ /^(simgrid|xbt)/ && FILENAME !~ /^sim\/replay\/simgrid[^\/]*\.[ch]$/)
        fail("only sim/replay/simgrid*.c uses SimGrid")
    if (name == "zlib.h" && FILENAME != "sim/base/gzip.c")
        fail("only sim/base/gzip.c uses zlib")
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

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# layering.sh must find each kind of violation in a small made-up tree, and none in a clean one.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

fresh() {
    rm -rf "$dir/sim"
    for room in base platform replay cli; do
        mkdir -p "$dir/sim/$room/include/stepsim" "$dir/sim/$room/include/$room"
        echo "$room"
    done > "$dir/rooms.txt"
    mv "$dir/rooms.txt" "$dir/sim/rooms.txt"
    echo '#include <stdint.h>' > "$dir/sim/base/include/stepsim/error.h"
    echo '#include "stepsim/error.h"' > "$dir/sim/platform/include/stepsim/platform.h"
    echo '#include "stepsim/platform.h"' > "$dir/sim/replay/include/stepsim/stepsim.h"
    echo '#include "stepsim/error.h"' > "$dir/sim/base/include/base/base.h"
    echo '#include <libxml/parser.h>' > "$dir/sim/base/xml.c"
    echo '#include "base/base.h"' > "$dir/sim/platform/platform.c"
    echo '#include <simgrid/actor.h>' > "$dir/sim/replay/simgrid.c"
    echo '#include "stepsim/stepsim.h"' > "$dir/sim/cli/main.c"
}
# expect "part of the message, or nothing" "what was done"
expect() {
    out=$(sh "$here/layering.sh" "$dir" 2>&1) && status=0 || status=$?
    if [ -z "$1" ]; then
        [ "$status" = 0 ] && [ -z "$out" ] || { echo "clean tree: exit $status: $out"; failed=1; }
    elif [ "$status" != 1 ] || ! echo "$out" | grep -q "$1"; then
        echo "$2: exit $status, wanted 1 and '$1', got: $out"
        failed=1
    fi
}
fresh; expect "" clean
fresh; echo '#include "stepsim/platform.h"' >> "$dir/sim/base/xml.c"; expect "higher room platform" upward
fresh; echo '#include "base/base.h"' >> "$dir/sim/cli/main.c"; expect "public headers only" "cli private"
fresh; echo '#include "base/base.h"' >> "$dir/sim/platform/include/stepsim/platform.h"; expect "private" "public private"
fresh; echo '# include <libxml/tree.h>' >> "$dir/sim/platform/platform.c"; expect "libxml2" libxml2
fresh; echo '#include <hwloc.h>' >> "$dir/sim/platform/platform.c"; expect "hwloc" hwloc
fresh; echo '#include <simgrid/host.h>' >> "$dir/sim/platform/platform.c"; expect "SimGrid" simgrid
fresh; echo '#include <zlib.h>' >> "$dir/sim/platform/platform.c"; expect "zlib" zlib
fresh; echo '#include <yaml.h>' >> "$dir/sim/platform/platform.c"; expect "libyaml" libyaml
fresh; echo '#include <jansson.h>' >> "$dir/sim/platform/include/stepsim/platform.h"; expect "may not include <jansson.h>" third
fresh; echo '#include "base.h"' >> "$dir/sim/platform/platform.c"; expect "in no include folder" "bare name"
fresh; mkdir "$dir/sim/new"; echo 'int x;' > "$dir/sim/new/new.c"; expect "no room owns" "unknown room"
fresh; echo 'int x;' > "$dir/sim/base/bare.h"; expect "a header belongs in" "bare header"
fresh
echo '#include "base/b.h"' > "$dir/sim/base/include/base/a.h"
echo '#include "base/a.h"' > "$dir/sim/base/include/base/b.h"
expect "cycle" cycle
fresh
mkdir -p "$dir/sim/layers/include/layers" "$dir/sim/cost/include/cost" "$dir/sim/plan"
printf '%s\n' base platform layers cost plan replay cli > "$dir/sim/rooms.txt"
echo 'struct ss_ops;' > "$dir/sim/layers/include/layers/operators.h"
echo '#include "layers/operators.h"' > "$dir/sim/cost/include/cost/near.h"
echo '#include "base/base.h"' > "$dir/sim/plan/plan.c"
expect "" "plan without operators"
echo '#include "cost/near.h"' >> "$dir/sim/plan/plan.c"
expect "the plan sees no operators" "operators through another header"
exit $failed

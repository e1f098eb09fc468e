#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: trace_memory.sh PROGRAM
# A trace of 64 ranks and 512 microbatches, 50 MB, is written while the replay goes on: at its peak the
# program holds hardly more memory than a replay that draws nothing.
set -eu
program=$1
most_kib=8192
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

awk 'BEGIN {
    ranks = 64; m = 512
    print "program big\nlink l bandwidth 100GBps\npath p l"
    for (r = 0; r + 1 < ranks; r++) {
        print "channel f" r " from r" r " to r" r + 1 " path p tag 0 latency 2us"
        print "channel b" r " from r" r + 1 " to r" r " path p tag 1 latency 2us"
    }
    for (r = 0; r < ranks; r++) {
        print "template F" r " {"
        if (r > 0) print "recv f" r - 1 "\nwait-recv f" r - 1
        print "alloc activations 10MiB\ncompute 5ms"
        if (r + 1 < ranks) print "send f" r " 1MB"
        print "}\ntemplate B" r " {"
        if (r + 1 < ranks) print "recv b" r "\nwait-recv b" r
        print "compute 10ms\nfree activations 10MiB"
        if (r > 0) print "send b" r - 1 " 1MB"
        print "}"
    }
    for (r = 0; r < ranks; r++) {
        warmup = ranks - 1 - r
        print "class r" r " stage " r " {"
        for (k = 0; k < m + warmup; k++) {
            if (k < m) print "slot F" r " F 0 " k
            if (k >= warmup) print "slot B" r " B 0 " k - warmup
        }
        print "}"
    }
}' > "$dir/big.prog"

# Peak resident KiB of a command, as the kernel counts it: not below those of the Python that starts it, which are few.
peak() {
    python3 -c 'import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
_, status, usage = os.wait4(child, 0)
print(usage.ru_maxrss)
sys.exit(status != 0)' "$@"
}
plain=$(peak "$program" program read "$dir/big.prog")
traced=$(peak "$program" program read "$dir/big.prog" --trace "$dir/t.json")
size=$(wc -c < "$dir/t.json")
echo "replay $plain KiB, with a trace of $size bytes $traced KiB"
[ "$size" -gt 40000000 ] && [ "$plain" -gt 0 ] && [ "$traced" -lt $((plain + most_kib)) ]

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: headers.sh CC INCLUDE_DIR
# Each public header compiles alone as strict C11 and, where a C++ compiler is at hand, as C++17.
set -eu
cc=$1
include=$2
status=0
for header in "$include"/stepsim/*.h; do
    name=stepsim/$(basename "$header")
    printf '#include "%s"\n' "$name" |
        "$cc" -std=c11 -pedantic -Wall -Wextra -Wstrict-prototypes -Werror -I"$include" -fsyntax-only -x c - ||
        status=1
    if command -v c++ > /dev/null; then
        printf '#include "%s"\n' "$name" |
            c++ -std=c++17 -Wall -Wextra -Werror -I"$include" -fsyntax-only -x c++ - || status=1
    fi
done
exit $status

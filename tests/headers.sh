#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: headers.sh CC INCLUDE_DIR...
# Each public header compiles alone as strict C11 and, where a C++ compiler is at hand, as C++17.
set -eu
cc=$1
shift
folders=$*
set -- 
for folder in $folders; do set -- "$@" "-I$folder"; done
status=0
for header in $(for folder in $folders; do ls "$folder"/stepsim/*.h 2> /dev/null; done); do
    name=stepsim/$(basename "$header")
    printf '#include "%s"\n' "$name" |
        "$cc" -std=c11 -pedantic -Wall -Wextra -Wstrict-prototypes -Werror "$@" -fsyntax-only -x c - ||
        status=1
    if command -v c++ > /dev/null; then
        printf '#include "%s"\n' "$name" |
            c++ -std=c++17 -Wall -Wextra -Werror "$@" -fsyntax-only -x c++ - || status=1
    fi
done
exit $status

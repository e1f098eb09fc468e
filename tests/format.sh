#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: format.sh SOURCE_ROOT [STAMP]
# Every C file is as clang-format 14 with .clang-format leaves it (other versions differ). Prints the files that are not.
# STAMP is made where all are: files that are older than it are not looked at again, as long as .clang-format and this script are, too.
set -eu
stamp=${2:-}
cd "$1"
format=
for name in clang-format-14 clang-format; do
    if command -v "$name" > /dev/null && "$name" --version | grep -q 'version 14'; then
        format=$name
        break
    fi
done
[ -n "$format" ] || { echo "no clang-format 14: install clang-format-14"; exit 1; }
set -- sim tests validation/probe -name '*.[ch]'
if [ -e "$stamp" ] && [ -z "$(find .clang-format tests/format.sh -newer "$stamp")" ]; then
    set -- "$@" -newer "$stamp"
fi
[ -z "$stamp" ] || : > "$stamp.new"
wrong=$(find "$@" -print0 | xargs -0 -r "$format" --dry-run -Werror 2>&1 |
    sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error: .*/\1/p' | LC_ALL=C sort -u)
[ -z "$wrong" ] || { echo "$wrong" | sed "s/\$/: run $format -i on it/"; exit 1; }
[ -z "$stamp" ] || mv "$stamp.new" "$stamp"

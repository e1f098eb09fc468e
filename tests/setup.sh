#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: setup.sh SOURCE_ROOT
# What setup.sh says without root and sudo: one command that root can type, with every package that is missing.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin"
for name in sh dirname mkdir tail sed; do ln -s "$(command -v $name)" "$dir/bin/$name"; done
printf '#!/bin/sh\necho 1000\n' > "$dir/bin/id"
printf '#!/bin/sh\nexit 1\n' > "$dir/bin/apt-get"
# Of the last word, the package: libxml2-dev alone is installed.
printf '#!/bin/sh\nfor last; do :; done\n[ "$last" != libxml2-dev ] || echo installed\n' > "$dir/bin/dpkg-query"
chmod 755 "$dir/bin"/*
cp "$1/setup.sh" "$dir/setup.sh"
status=0
PATH=$dir/bin sh "$dir/setup.sh" demo > "$dir/out" 2> "$dir/err" || status=$?
want='    apt-get update && apt-get install -y --no-install-recommends build-essential cmake '
if [ "$status" != 1 ] || [ -s "$dir/out" ] || ! grep -qF "$want" "$dir/err" || grep -q libxml2-dev "$dir/err" ||
    ! grep -q 'libsimgrid-dev.* zlib1g-dev' "$dir/err"; then
    echo "setup.sh: status $status"
    cat "$dir/out" "$dir/err"
    exit 1
fi

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: setup.sh SOURCE_ROOT [BUILD MODULE...]
# What setup.sh says without root and sudo: one command that root can type, with every package that is missing.
# `demo` builds a program and the modules that it opens: those named, in a folder that ninja builds.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin"
for name in sh dirname mkdir tail sed; do ln -s "$(command -v $name)" "$dir/bin/$name"; done
printf '#!/bin/sh\necho 1000\n' > "$dir/bin/id"
printf '#!/bin/sh\nexit 1\n' > "$dir/bin/apt-get"
# The last word is the package: libxml2-dev alone is installed.
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
[ $# -gt 1 ] || exit 0
build=$2
source=$1
shift 2
target=$(sed -n 's/^    build \(stepsim[a-z-]*\)$/\1/p' "$source/setup.sh")
ninja -C "$build" -t inputs "$target" > "$dir/inputs"
for module; do
    if ! grep -qx "$module" "$dir/inputs"; then
        echo "setup.sh: demo builds $target, which does not bring $module"
        exit 1
    fi
done

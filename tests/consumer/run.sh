#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: run.sh BUILD_DIR SOURCE_ROOT
# Installs into a temporary prefix and builds an outside program against it, by CMake and by pkg-config.
set -eu
build=$1
source=$2/tests/consumer
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
prefix=$dir/prefix
cmake --install "$build" --prefix "$prefix" > "$dir/install.log"

cmake -S "$source" -B "$dir/cmake" -DCMAKE_PREFIX_PATH="$prefix" > "$dir/log" 2>&1 &&
    cmake --build "$dir/cmake" >> "$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
"$dir/cmake/consumer"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name stepsim.pc)")
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") # where the library is a shared one
export PKG_CONFIG_PATH LD_LIBRARY_PATH
make -s -C "$source" OUT="$dir/consumer-make"
"$dir/consumer-make"

for file in bin/stepsim share/stepsim/platforms share/stepsim/workloads; do
    [ -e "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done

# Python finds the library that was installed beside its package, and that its data, unless the build leaves it out.
[ -n "$(find "$prefix" -name 'libstepsim.so.*')" ] || exit 0
module=$(dirname "$(find "$prefix" -name py.typed)")
PYTHONPATH=$(dirname "$module") python3 -c '
import stepsim, stepsim._library
assert stepsim._library._library._name.startswith("'"$prefix"'"), stepsim._library._library._name
assert stepsim.run("--job", "8b-16")["verdict"] == "fits"'

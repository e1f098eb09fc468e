#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: examples.sh BUILD_DIR SOURCE_ROOT [--update]
# Installs into a temporary prefix, then compiles and runs the programs of docs/reference/api.md against what is installed.
set -eu
build=$1
source=$(cd "$2" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cmake --install "$build" --prefix "$dir/prefix" > "$dir/install.log"
PKG_CONFIG_PATH=$(dirname "$(find "$dir/prefix" -name stepsim.pc)")
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
CMAKE_PREFIX_PATH=$dir/prefix
STEPSIM_DATA=$dir/prefix/share/stepsim # the library looks where it was to be installed
export PKG_CONFIG_PATH LD_LIBRARY_PATH CMAKE_PREFIX_PATH STEPSIM_DATA
mkdir "$dir/work"
python3 "$source/tests/consumer/examples.py" "$source/docs/reference/api.md" "$dir/work" ${3:+"$3"}

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
set -eu
# shellcheck disable=SC2086 # CMAKE_ARGS is a list of words
cmake -S . -B build -G Ninja ${CMAKE_ARGS:-} -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib \
    -DSS_PYTHON_DIR="${SP_DIR#"$PREFIX"/}" -DSS_SIMGRID=OFF -DSS_MPI=OFF -DSS_TESTS=OFF -DSS_PROBE=OFF
cmake --build build
cmake --install build

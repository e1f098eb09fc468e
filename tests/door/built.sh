#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: built.sh SOURCE_ROOT PROGRAM
# Builds the static program and the wheel as `sh setup.sh wheel` does, installs nothing, and tries both. Skipped where the static libraries are
# missing; without calibrate where the sources of cminpack cannot be had (no network).
set -eu
cd "$1"
without=
if ! sh cmake/static/cminpack.sh build-static/libraries > /dev/null 2>&1; then
    echo "built.sh: warning: no sources of cminpack: calibrate is left out"
    without=-DSS_CMINPACK=OFF
    export STEPSIM_NO_CALIBRATE=1
fi
cmake --preset static -DSS_CMINPACK=ON $without > build-static.log 2>&1 || { tail -n 3 build-static.log; rm -f build-static.log; echo "built.sh: skipped: no static build here"; exit 77; }
rm -f build-static.log
cmake --build --preset static --target stepsim-installed stepsim-shared
rm -f build-static/*.whl
python3 packaging/wheel.py build-static build-static/installed/stepsim build-static
sh tests/door/static.sh build-static/installed/stepsim "$2"
sh tests/door/wheel.sh build-static/*.whl

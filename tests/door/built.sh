#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: built.sh SOURCE_ROOT PROGRAM
# Builds the static program and the wheel as `sh setup.sh wheel` does, installs nothing, and tries both. Skipped where the static libraries are
# missing.
set -eu
cd "$1"
cmake --preset static > build-static.log 2>&1 || { tail -n 3 build-static.log; rm -f build-static.log; echo "built.sh: skipped: no static build here"; exit 77; }
rm -f build-static.log
cmake --build --preset static --target stepsim-installed stepsim-shared
rm -f build-static/*.whl
python3 packaging/wheel.py build-static build-static/installed/stepsim build-static
sh tests/door/static.sh build-static/installed/stepsim "$2"
sh tests/door/wheel.sh build-static/*.whl

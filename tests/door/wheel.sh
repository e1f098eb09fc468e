#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: wheel.sh WHEEL [SOURCE_ROOT]
# Installs the wheel into a clean venv in an empty folder, without a network, and uses it there with a PATH of that venv
# alone: no compiler and no sources are in sight.
set -eu
wheel=$(realpath "$1")
source=$(realpath "${2:-$(dirname "$0")/../..}")
folder=$(mktemp -d "${TMPDIR:-/tmp}/stepsim-wheel-XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv > venv.log 2>&1 || { echo "wheel.sh: skipped: python3 -m venv makes none here: $(tail -n 1 venv.log)"; exit 77; }
env -i HOME="$folder" PATH="$folder/venv/bin" venv/bin/python -m pip install -q --no-index --no-deps --disable-pip-version-check "$wheel"
cp "$source/tests/door/use_wheel.py" "$source/tests/door/page.py" .
# shellcheck disable=SC2016 # expanded by the inner shell
env -i HOME="$folder" PATH="$folder/venv/bin" TMPDIR="$folder" STEPSIM_NO_CALIBRATE="${STEPSIM_NO_CALIBRATE:-}" venv/bin/python -W error use_wheel.py
env -i HOME="$folder" PATH="$folder/venv/bin" venv/bin/python -m pip uninstall -q -y stepsim
left=$(find venv -name '*stepsim*')
[ -z "$left" ] || { echo "wheel.sh: error: left behind: $left" >&2; exit 1; }
echo "wheel.sh: passed: $(basename "$wheel")"

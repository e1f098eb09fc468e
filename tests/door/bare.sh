#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: [SUITE=trixie] sh tests/door/bare.sh [FOLDER]
# The wheel and the static program of FOLDER (build-static, by `sh setup.sh wheel`) in a bare Debian 12, or SUITE, that has Python
# and no compiler (tests/bare-root.sh: who may, KEEP=1).
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
built=$(cd "${1:-$source/build-static}" && pwd)
INCLUDE=python3,python3-venv
. "$source/tests/bare-root.sh"
bare_root bare.sh "$@"
cp "$built"/*.whl "$built/stepsim" "$source/tests/door/use_wheel.py" "$source/tests/door/page.py" "$root/root/"
echo "== $(inside sh -c '. /etc/os-release; echo "$PRETTY_NAME"'), $(inside /lib/x86_64-linux-gnu/libc.so.6 | head -n 1)"
inside /root/stepsim run --job 8b-16 --brief
inside python3 -m venv /root/venv
inside sh -c '/root/venv/bin/pip install -q --no-index /root/*.whl'
inside sh -c 'cd /root && PATH=/root/venv/bin:$PATH venv/bin/python use_wheel.py'
echo "bare.sh: passed"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: quick.sh OLD NEW
# A fixed subset of run.sh's jobs, in seconds: for every change; run.sh before a release.
exec python3 "$(dirname "$0")/net.py" "$@" --quick 130

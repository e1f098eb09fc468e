#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: run.sh OLD NEW [--jobs N] [--seed S] [--only INDEX] [--cache FOLDER|none] [-j N]
# Runs 2,000 random jobs through both binaries and compares all that they print; README.md.
exec python3 "$(dirname "$0")/net.py" "$@"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh tests/clean-machine.sh [COMMAND of setup.sh ...]   (default: demo test)
# A stand-in for a bare Debian 12 machine: a debootstrap chroot (tests/bare-root.sh: who may, KEEP=1) with only git, in which the
# committed HEAD is cloned and setup.sh is run.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
[ "$#" -gt 0 ] || set -- demo test
. "$source/tests/bare-root.sh"
bare_root clean-machine.sh "$@"

inside_install git
git clone -q --bare "$source" "$root/root/origin.git"
inside git clone -q /root/origin.git /root/stepsim
for command in "$@"; do
    echo "== sh setup.sh $command"
    inside sh -c 'cd /root/stepsim && sh setup.sh "$1"' sh "$command"
done
# An installed program must do without the sources, in data and in the SimGrid engine.
case " $* " in
*" install "*)
    echo "== the installed program, sources moved away"
    inside mv /root/stepsim /root/moved
    answer=$(inside stepsim run --platform h800 --nodes 4 --job /root/moved/workloads/jobs/8b-16.args)
    echo "$answer" | head -n 1
    ;;
esac
echo "clean-machine.sh: passed: $*"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh tests/package.sh [FOLDER]
# Installs the Debian packages of FOLDER (build-package, by `sh setup.sh package`) into a bare Debian 12 (tests/bare-root.sh: who may,
# KEEP=1), uses what they bring as a user would, and removes them.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
packages=$(cd "${1:-$source/build-package}" && pwd)
. "$source/tests/bare-root.sh"
bare_root package.sh "$@"
fail() {
    echo "package.sh: error: $1" >&2
    exit 1
}

# install_deb NAME PACKAGE...: that one of FOLDER, and packages of Debian
install_deb() {
    file=$(basename "$(ls "$packages/$1"_*.deb)")
    shift
    inside_install "/packages/$file" "$@"
}

mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages/"
echo "== apt install ./stepsim_*.deb"
install_deb stepsim
inside stepsim run --job 8b-16 --measured 23570.5ms --brief
[ "$(inside stepsim run --job 8b-16 --engine simgrid --json | grep -c '"engine": "simgrid"')" = 1 ] || fail "the SimGrid engine does not run"
inside stepsim doctor || fail "stepsim doctor finds something wrong"

echo "== man stepsim-run, completion"
inside_install man-db bash-completion
inside env MANPAGER=cat man stepsim-run | grep -q 'predict one training iteration' || fail "no manual page of stepsim run"
for command in $(inside stepsim help --options | cut -f 1 | sort -u | grep -vx -e help -e version); do
    inside man -w "stepsim-$command" > /dev/null || fail "no manual page of stepsim $command"
done
inside bash -c '
    . /usr/share/bash-completion/bash_completion
    _completion_loader stepsim
    COMP_WORDS=(stepsim ru) COMP_CWORD=1 COMP_LINE="stepsim ru" COMP_POINT=10
    function=$(complete -p stepsim | sed "s/.*-F \([^ ]*\).*/\1/")
    $function stepsim ru stepsim
    echo "stepsim ru<TAB>: ${COMPREPLY[*]}"' | grep 'run' || fail "bash completes no command"

echo "== apt install ./python3-stepsim_*.deb"
install_deb python3-stepsim
inside python3 -c 'import stepsim; answer = stepsim.run("--job", "8b-16"); print(stepsim.__version__, answer["iteration_ms"], answer["verdict"])
print([row["iteration_ms"] for row in stepsim.sweep("--job", "8b-16", vary={"nodes": [4, 8]})])
assert stepsim.run("--job", "8b-16", engine="simgrid")["engine"] == "simgrid"'

echo "== apt install ./libstepsim-dev_*.deb"
install_deb libstepsim-dev gcc libc6-dev make cmake
cp -R "$source/tests/consumer" "$root/consumer"
inside make -s -C /consumer OUT=/consumer/by-pkg-config
inside sh -c 'cmake -S /consumer -B /consumer/build && cmake --build /consumer/build' > /dev/null
for program in by-pkg-config build/consumer; do inside "/consumer/$program" h800; done

echo "== apt remove"
inside env DEBIAN_FRONTEND=noninteractive apt-get -q remove -y stepsim > /dev/null
[ ! -e "$root/usr/share/stepsim" ] && [ ! -e "$root/usr/bin/stepsim" ] || fail "files are left behind"
inside sh -c '! python3 -c "import stepsim" 2> /dev/null' || fail "the Python package is left behind"
echo "package.sh: passed"

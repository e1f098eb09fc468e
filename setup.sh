#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh setup.sh demo|test|build|install
#   demo     build, then predict one training job and show the measured run beside it
#   test     build and run every test
#   build    build/stepsim
#   install  build and install (PREFIX=/usr/local)
# Debian packages that are missing are installed with apt, by sudo when not root.
set -eu
cd "$(dirname "$0")"

packages="build-essential cmake ninja-build pkg-config libsimgrid-dev libhwloc-dev libxml2-dev"
packages="$packages libcunit1-dev libjansson-dev libcminpack-dev libmicrohttpd-dev zlib1g-dev libyaml-dev"
browser_packages="chromium chromium-driver python3-selenium fonts-dejavu-core"
demo="build/stepsim run --platform h800 --nodes 4 --job workloads/jobs/8b-16.args"
demo="$demo --measured 23570.5ms --measured-memory 72542MiB"

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo > /dev/null; then
        sudo "$@"
    else
        echo "setup.sh: error: packages are missing and there is no sudo; run as root: $*" >&2
        exit 1
    fi
}

# Those not fully installed, on one line.
missing_packages() {
    for package in $packages; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)
        [ "$status" = installed ] || printf ' %s' "$package"
    done
}

install_packages() {
    if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
        echo "setup.sh: warning: no apt here; these must be present: $packages" >&2
        return
    fi
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0
    echo "setup.sh: installing$missing"
    as_root apt-get -q update
    # shellcheck disable=SC2086 # a list of words
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing
}

build() {
    install_packages
    cmake --preset release "-DCMAKE_INSTALL_PREFIX=${PREFIX:-/usr/local}" # also where an earlier build had another
    cmake --build --preset release
}

case ${1:-} in
demo)
    build
    echo "$ $demo"
    $demo
    ;;
test)
    packages="$packages python3 clang-format-14 libopenmpi-dev openmpi-bin"
    # The pages and pictures are opened in a browser; STEPSIM_NO_BROWSER_TEST=1 leaves that out.
    [ -n "${STEPSIM_NO_BROWSER_TEST:-}" ] || packages="$packages $browser_packages"
    build
    ctest --preset release -j "$(nproc)"
    ;;
build) build ;;
install)
    build
    # Only the installation itself may need rights that the build does not.
    prefix=${PREFIX:-/usr/local}
    while [ ! -e "$prefix" ]; do prefix=$(dirname "$prefix"); done
    if [ -w "$prefix" ]; then cmake --install build; else as_root cmake --install build; fi
    ;;
*)
    sed -n '3,8s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac

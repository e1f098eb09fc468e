#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh setup.sh demo|test|test-build|coverage|build|install|package|static|wheel|page
#   demo     build the program, then predict one training job beside its measured run
#   test     build and run every test; test-build: all but run them
#   coverage run them in a build that counts, build-coverage/, and print what they ran of sim/
#   build    build/stepsim
#   install  build and install (PREFIX=/usr/local)
#   package  build Debian packages: build-package/*.deb
#   static   build one program that needs nothing beside itself: build-static/stepsim
#   wheel    build a wheel for Python with that program in it: build-static/*.whl
#   page     build the page of stepsim serve for browsers alone: build-alone/page/, a folder of static files
# Debian packages that are missing are installed with apt, by sudo when not root. What apt, cmake and ninja say of all
# but the tests is in build/setup.log.
set -eu
cd "$(dirname "$0")"

packages="build-essential cmake ninja-build pkg-config libsimgrid-dev libhwloc-dev libxml2-dev"
packages="$packages libcunit1-dev libjansson-dev libcminpack-dev libmicrohttpd-dev zlib1g-dev libyaml-dev"
browser_packages="chromium chromium-driver python3-selenium fonts-dejavu-core"
demo="build/stepsim run --platform h800 --nodes 4 --job workloads/jobs/8b-16.args"
demo="$demo --measured 23570.5ms --measured-memory 72542MiB"
log=build/setup.log

# Those not fully installed, on one line.
missing_packages() {
    for package in $packages; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)
        [ "$status" = installed ] || printf ' %s' "$package"
    done
}

# logged WORD...: runs it with its output in the log, of which an error shows the end
logged() {
    if ! "$@" >> "$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "setup.sh: error: \"$*\" failed; all that was said is in $log" >&2
        exit 1
    fi
}

install_packages() {
    if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
        echo "setup.sh: warning: no apt here; these must be present: $packages" >&2
        return
    fi
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0
    root=
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo > /dev/null; then
            echo "setup.sh: error: packages are missing, and this is not root and has no sudo. As root run" >&2
            echo "    apt-get update && apt-get install -y --no-install-recommends$missing" >&2
            echo "and then this again." >&2
            exit 1
        fi
        root=sudo
    fi
    echo "setup.sh: installing$missing"
    logged $root apt-get -q update
    # shellcheck disable=SC2086 # a list of words
    logged $root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing
}

# build [TARGET]: all, or what one target needs
build() {
    mkdir -p build
    : > "$log"
    install_packages
    echo "setup.sh: building${1:+ the program} in build/, which is told in $log"
    logged cmake --preset release "-DCMAKE_INSTALL_PREFIX=${PREFIX:-/usr/local}" # also where an earlier build had another
    logged cmake --build --preset release ${1:+--target "$1"}
}

# build_static TARGET...: in build-static/, of fewer packages: no SimGrid
build_static() {
    packages="build-essential cmake ninja-build pkg-config libhwloc-dev libxml2-dev libicu-dev"
    packages="$packages libjansson-dev libcminpack-dev libmicrohttpd-dev zlib1g-dev libyaml-dev ${packages_of_door:-}"
    mkdir -p build
    : > "$log"
    install_packages
    echo "setup.sh: building in build-static/, which is told in $log"
    logged sh cmake/static/cminpack.sh build-static/libraries
    logged cmake --preset static
    logged cmake --build --preset static --target "$@"
    cp build-static/installed/stepsim build-static/stepsim.new
    mv build-static/stepsim.new build-static/stepsim
}

case ${1:-} in
demo)
    build stepsim-cli
    echo "$ $demo"
    $demo
    echo
    echo "In one line:"
    $demo --brief
    ;;
test | test-build)
    packages="$packages python3 clang-format-14 libopenmpi-dev openmpi-bin"
    # The pages and pictures are opened in a browser; STEPSIM_NO_BROWSER_TEST=1 leaves that out.
    [ -n "${STEPSIM_NO_BROWSER_TEST:-}" ] || packages="$packages $browser_packages"
    build
    [ "$1" = test-build ] || ctest --preset release -j "$(nproc)"
    ;;
coverage)
    packages="$packages python3 gcovr libopenmpi-dev openmpi-bin"
    mkdir -p build
    : > "$log"
    install_packages
    echo "setup.sh: building in build-coverage/, which is told in $log"
    logged cmake --preset coverage
    logged cmake --build --preset coverage
    find build-coverage -name "*.gcda" -delete
    status=0
    umask 0 # counts of a user without rights, as whom a launch script is tried, are kept, too
    ctest --preset coverage -j "$(nproc)" || status=1
    python3 tests/coverage.py build-coverage || status=1
    exit $status
    ;;
build) build ;;
install)
    build
    # Only the installation itself may need rights that the build does not.
    prefix=${PREFIX:-/usr/local}
    while [ ! -e "$prefix" ]; do prefix=$(dirname "$prefix"); done
    if [ -w "$prefix" ]; then
        cmake --install build
    elif command -v sudo > /dev/null; then
        sudo cmake --install build
    else
        echo "setup.sh: error: $prefix is not yours and there is no sudo; run as root: cmake --install build" >&2
        exit 1
    fi
    ;;
package)
    packages="$packages dpkg-dev file libopenmpi-dev"
    mkdir -p build
    : > "$log"
    install_packages
    echo "setup.sh: building packages in build-package/, which is told in $log"
    logged cmake --preset package
    logged cmake --build --preset package
    rm -f build-package/*.deb
    (cd build-package && cpack) >> "$log" 2>&1 || logged false
    ls build-package/*.deb
    ;;
static)
    build_static stepsim-installed
    ls -l build-static/stepsim
    ;;
wheel)
    packages_of_door=python3
    build_static stepsim-installed stepsim-shared
    python3 packaging/wheel.py build-static build-static/stepsim build-static
    ;;
page)
    packages="$packages emscripten dpkg-dev"
    build ss_bands
    logged cmake --build --preset release --target ss_inside ss_xml
    echo "setup.sh: building the page in build-alone/, which is told in $log"
    # Of another Node.js than Debian's, too, emscripten wants Debian's modules.
    export NODE_PATH=/usr/share/nodejs PKG_CONFIG_LIBDIR="$PWD/build-alone/libraries/prefix/lib/pkgconfig"
    logged sh cmake/alone/libraries.sh build-alone/libraries
    logged emcmake cmake --preset alone
    logged cmake --build --preset alone --target page
    ls -l build-alone/page
    ;;
*)
    sed -n '3,14s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac

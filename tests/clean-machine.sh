#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh tests/clean-machine.sh [COMMAND of setup.sh ...]   (default: demo test)
# A stand-in for a bare Debian 12 machine: a debootstrap chroot with only git, in which the committed
# HEAD is cloned and setup.sh is run. Needs root and debootstrap. The chroot takes this machine's apt
# sources and apt configuration. KEEP=1 leaves it for a look.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
[ "$#" -gt 0 ] || set -- demo test
[ "$(id -u)" = 0 ] || { echo "clean-machine.sh: error: run as root" >&2; exit 1; }
command -v debootstrap > /dev/null || { echo "clean-machine.sh: error: install debootstrap" >&2; exit 1; }
# In a mount namespace of its own, so that whatever happens no mount of ours stays or spreads.
if [ -z "${CLEAN_MACHINE_INSIDE:-}" ]; then
    exec env CLEAN_MACHINE_INSIDE=1 unshare --mount --propagation private sh "$0" "$@"
fi

root=$(mktemp -d "${TMPDIR:-/tmp}/clean-machine-XXXXXX")
chmod 755 "$root" # the package manager drops to a user of its own
cleanup() {
    if mountpoint -q "$root/proc"; then umount "$root/proc"; fi
    if [ -n "${KEEP:-}" ]; then
        echo "kept: $root"
    elif mountpoint -q "$root/proc"; then
        echo "clean-machine.sh: warning: still mounted, not removed: $root" >&2
    else
        rm -rf "$root"
    fi
}
trap cleanup EXIT

# The mirror that this machine itself uses.
mirror=${MIRROR:-$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Codename: bookworm' |
    grep -v security | head -n 1)}
debootstrap --variant=minbase bookworm "$root" ${mirror:+"$mirror"} > "$root.log" 2>&1 ||
    { tail -20 "$root.log"; exit 1; }
rm -f "$root.log"
rm -rf "$root/etc/apt"
cp -a /etc/apt "$root/etc/apt"
# Certificates and keys that those sources name.
for folder in /usr/share/keyrings /etc/ssl /usr/share/ca-certificates /usr/local/share/ca-certificates; do
    [ -d "$folder" ] || continue
    mkdir -p "$root$folder"
    cp -a "$folder/." "$root$folder/"
done
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2> /dev/null || true
cp -L /etc/hosts "$root/etc/hosts" 2> /dev/null || true
mount -t proc proc "$root/proc" || echo "clean-machine.sh: warning: no /proc in the chroot" >&2

inside() {
    chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} "$@"
}
inside apt-get -q update > /dev/null
inside env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends git > /dev/null
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

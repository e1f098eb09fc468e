# SPDX-License-Identifier: Apache-2.0
# To be sourced: a bare Debian 12, or SUITE, with the packages of INCLUDE, in $root, by debootstrap, with this machine's apt sources and apt configuration; it is removed at the end,
# but for KEEP=1. Needs root and debootstrap. `inside COMMAND...` runs in it. Sets -eu.
# bare_root NAME "$@": NAME is for messages; "$@" are the script's own arguments.
set -eu

bare_root() {
    name=$1
    shift
    [ "$(id -u)" = 0 ] || { echo "$name: error: run as root" >&2; exit 1; }
    command -v debootstrap > /dev/null || { echo "$name: error: install debootstrap" >&2; exit 1; }
    # In a mount namespace of its own, so that whatever happens no mount of ours stays or spreads.
    if [ -z "${BARE_ROOT_INSIDE:-}" ]; then
        exec env BARE_ROOT_INSIDE=1 unshare --mount --propagation private sh "$0" "$@"
    fi
    root=$(mktemp -d "${TMPDIR:-/tmp}/bare-root-XXXXXX")
    chmod 755 "$root" # the package manager drops to a user of its own
    trap bare_root_end EXIT
    # The mirror that this machine itself uses.
    mirror=${MIRROR:-$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Codename: bookworm' |
        grep -v security | head -n 1)}
    debootstrap --variant=minbase ${INCLUDE:+"--include=$INCLUDE"} "${SUITE:-bookworm}" "$root" ${mirror:+"$mirror"} > "$root.log" 2>&1 ||
        { tail -20 "$root.log"; exit 1; }
    rm -f "$root.log"
    mount -t proc proc "$root/proc" || echo "$name: warning: no /proc in the chroot" >&2
    [ "${SUITE:-bookworm}" = bookworm ] || return 0 # the sources below are those of Debian 12
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
    inside apt-get -q update > /dev/null
}

bare_root_end() {
    if mountpoint -q "$root/proc"; then umount "$root/proc"; fi
    if [ -n "${KEEP:-}" ]; then
        echo "kept: $root"
    elif mountpoint -q "$root/proc"; then
        echo "$name: warning: still mounted, not removed: $root" >&2
    else
        rm -rf "$root" "$root.apt"
    fi
}

inside() {
    chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} "$@"
}

# inside_install PACKAGE...: quietly
inside_install() {
    inside env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@" > "$root.apt" 2>&1 || { tail -20 "$root.apt"; return 1; }
}

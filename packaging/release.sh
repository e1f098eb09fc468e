#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh packaging/release.sh ADDRESS [TAG]
# Makes the archive of the sources, stepsim-VERSION.tar.gz, of TAG (vVERSION, of CMakeLists.txt), and writes its address, SHA-256 and version
# into the three recipes. ADDRESS is where the archive will be: https://HOST/.../stepsim-VERSION.tar.gz. The same tag gives the same bytes.
set -eu
cd "$(dirname "$0")/.."
fail() { echo "release.sh: error: $*" >&2; exit 2; }
[ $# -ge 1 ] && [ $# -le 2 ] || fail "usage: sh packaging/release.sh ADDRESS [TAG]"
version=$(sed -n 's/^project(stepsim VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
tag=${2:-v$version}
archive=stepsim-$version.tar.gz
case $1 in
https://*/"$archive") ;;
*) fail "$1: an address begins with https:// and ends in /$archive" ;;
esac
git rev-parse -q --verify "$tag^{commit}" > /dev/null || fail "$tag: no such tag: git tag $tag"
tagged=$(git show "$tag:CMakeLists.txt" | sed -n 's/^project(stepsim VERSION \([0-9.]*\).*/\1/p')
[ "$tagged" = "$version" ] || fail "$tag has version $tagged, and CMakeLists.txt has $version"
git archive --format=tar --prefix="stepsim-$version/" "$tag" | gzip -9n > "$archive.new"
mv "$archive.new" "$archive"
sum=$(sha256sum "$archive" | cut -d ' ' -f 1)
home=${1%/*}

# change FILE EXPRESSION...: by sed, whole or not at all
change() {
    file=packaging/$1
    shift
    sed "$@" "$file" > "$file.new"
    mv "$file.new" "$file"
}
change spack/package.py -e "s|^\( *homepage = \).*|\1\"$home\"|" -e "s|^\( *url = \).*|\1\"$1\"|" \
    -e "s|^\( *version(\).*|\1\"$version\", sha256=\"$sum\")|"
change conda/meta.yaml -e "s|^\({% set version = \).*|\1\"$version\" %}|" -e "s|^\( *url: \).*|\1$home/stepsim-{{ version }}.tar.gz|" \
    -e "s|^\( *sha256: \).*|\1\"$sum\"|" -e "s|^\( *home: \).*|\1$home|"
change homebrew/stepsim.rb -e "s|^\( *homepage \).*|\1\"$home\"|" -e "s|^\( *url \).*|\1\"$1\"|" -e "s|^\( *sha256 \).*|\1\"$sum\"|"
echo "$archive: $sum"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: cminpack.sh FOLDER
# Builds FOLDER/libcminpack.a of the sources that Debian has of its libcminpack, which it has as a shared library alone. Of MINPACK it has what
# sim/study/fit.c calls. What is there already stays.
set -eu
folder=$(realpath -m "$1")
[ ! -e "$folder/libcminpack.a" ] || exit 0
rm -rf "$folder"
sh "$(dirname "$0")/../sources.sh" "$folder" --tar-only cminpack
cd "$folder/source"
tar -xf cminpack_*.orig.tar.*
cd cminpack-*/
for part in lmdif lmpar qrfac qrsolv enorm fdjac2 dpmpar; do
    ${CC:-cc} -O2 -fPIC -ffp-contract=off -w -c "$part.c"
done
ar rcsD "$folder/libcminpack.new" ./*.o
mv "$folder/libcminpack.new" "$folder/libcminpack.a"

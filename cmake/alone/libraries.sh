#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: libraries.sh FOLDER
# Builds jansson, zlib and libyaml for WebAssembly in FOLDER/prefix, of the sources that Debian has for this release; apt's
# lists of sources are FOLDER's own. What is there already stays.
set -eu
folder=$(realpath -m "$1")
prefix=$folder/prefix
[ ! -e "$prefix/made" ] || exit 0
rm -rf "$folder"
mkdir -p "$folder/parts" "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/source" "$prefix/lib/pkgconfig"

# The machine's own addresses, asked for sources.
for list in /etc/apt/sources.list.d/*.sources; do
    [ ! -e "$list" ] || sed 's/^Types:.*/Types: deb-src/' "$list" > "$folder/parts/$(basename "$list")"
done
cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2> /dev/null | sed -n 's/^deb /deb-src /p' > "$folder/parts/all.list" || true
cat > "$folder/apt.conf" << EOF
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$folder/parts";
Dir::State::lists "$folder/lists";
Dir::Cache "$folder/cache";
APT::Sandbox::User "";
EOF
export APT_CONFIG="$folder/apt.conf"
apt-get -q update
cd "$folder/source"
apt-get -q source libxml2 jansson zlib libyaml

# made NAME OPTION...: by the library's own CMake files
made() {
    name=$1
    shift
    emcmake cmake -Wno-dev -G Ninja -S "$(echo "$folder/source/$name"-*/)" -B "$folder/$name" -DCMAKE_BUILD_TYPE=Release \
        "-DCMAKE_INSTALL_PREFIX=$prefix" -DBUILD_SHARED_LIBS=OFF "$@"
    cmake --build "$folder/$name" --target install
}
# Of libxml2 the headers alone: the page reads shipped XML, which the build has read (sim/base/xml_made.c).
cd "$folder/source"/libxml2-*/
mkdir -p "$prefix/include/libxml"
cp include/libxml/*.h "$prefix/include/libxml"
sed 's/@WITH_[A-Z0-9_]*@/0/; s/@LIBXML_VERSION_NUMBER@/20914/; s/@[A-Z_]*@//' include/libxml/xmlversion.h.in > "$prefix/include/libxml/xmlversion.h"
described() {
    printf 'Name: %s\nDescription: of Debian\nVersion: 0\nLibs: %s\nCflags: -I%s/include\n' "$1" "$2" "$prefix" > "$prefix/lib/pkgconfig/$1.pc"
}
described libxml-2.0 ""
described yaml-0.1 "-L$prefix/lib -lyaml"
made jansson -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON -DJANSSON_EXAMPLES=OFF
made libyaml -DBUILD_TESTING=OFF
cd "$folder/source"/zlib-*/
emconfigure ./configure --static "--prefix=$prefix"
emmake make install
touch "$prefix/made"

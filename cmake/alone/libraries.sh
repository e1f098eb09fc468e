#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: libraries.sh FOLDER
# Builds jansson, zlib and libyaml for WebAssembly in FOLDER/prefix, of the sources that Debian has for this release. What is
# there already stays.
set -eu
folder=$(realpath -m "$1")
prefix=$folder/prefix
[ ! -e "$prefix/made" ] || exit 0
rm -rf "$folder"
mkdir -p "$prefix/lib/pkgconfig"
sh "$(dirname "$0")/../sources.sh" "$folder" libxml2 jansson zlib libyaml
cd "$folder/source"

# made LIBRARY PACKAGE OPTION... FILE...: compiles and archives files of a package's source; NAME is for NAME.c
made() {
    library=$1 sources=$(echo "$folder/source/$2"-*/)
    shift 2
    mkdir "$folder/$library"
    cd "$folder/$library"
    options=
    for word in "$@"; do
        case $word in
        -*) options="$options $word" ;;
        *)
            # shellcheck disable=SC2086 # a list of words
            emcc -O2 -w "-I$prefix/include" $options -c "$sources$word.c"
            ;;
        esac
    done
    emar rcs "$prefix/lib/lib$library.a" ./*.o
}
described() {
    printf 'Name: %s\nDescription: of Debian\nVersion: 0\nLibs: %s\nCflags: -I%s/include\n' "$1" "$2" "$prefix" \
        > "$prefix/lib/pkgconfig/$1.pc"
}
mkdir -p "$prefix/include/libxml"
cp jansson-*/src/jansson.h jansson-*/android/jansson_config.h libyaml-*/include/yaml.h zlib-*/zlib.h "$prefix/include"
cp zlib-*/zconf.h.in "$prefix/include/zconf.h"
: > "$prefix/include/jansson_private_config.h" # what configure would find: nothing that these files need
made jansson jansson -DHAVE_STDINT_H src/dump src/error src/hashtable src/hashtable_seed src/load src/memory src/pack_unpack \
    src/strbuffer src/strconv src/utf src/value src/version
made yaml libyaml -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 '-DYAML_VERSION_STRING="0.2.5"' src/api \
    src/dumper src/emitter src/loader src/parser src/reader src/scanner src/writer
made z zlib adler32 crc32 deflate inflate inffast inftrees trees zutil
# Of libxml2 the headers alone: the page reads shipped XML, which the build has read (sim/base/xml_made.c).
cd "$folder/source"/libxml2-*/include/libxml
cp ./*.h "$prefix/include/libxml"
sed 's/@WITH_[A-Z0-9_]*@/0/; s/@LIBXML_VERSION_NUMBER@/20914/; s/@[A-Z_]*@//' xmlversion.h.in > "$prefix/include/libxml/xmlversion.h"
described libxml-2.0 ""
described jansson "-L$prefix/lib -ljansson"
described yaml-0.1 "-L$prefix/lib -lyaml"
described zlib "-L$prefix/lib -lz"
touch "$prefix/made"

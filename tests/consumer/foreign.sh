#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: foreign.sh SOURCE_ROOT C_COMPILER
# What is installed takes neither data nor code from the folders it was built in. Builds and installs a copy of the
# sources, then puts a changed platform into the copy and a foreign module into its build folder. The program of the
# build folder must notice both, else this test sees nothing; what is installed must notice neither.
set -eu
source=$(cd "$1" && pwd)
CC=$2
export CC
unset STEPSIM_DATA STEPSIM_MODULE_DIR CFLAGS || true
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
copy=$dir/copy
prefix=$dir/prefix
fail() {
    echo "foreign.sh: $1"
    exit 1
}

mkdir "$copy"
for part in CMakeLists.txt cmake python sim platforms workloads validation docs; do
    cp -R "$source/$part" "$copy/"
done
cmake -G Ninja -S "$copy" -B "$copy/build" -DSS_TESTS=OFF -DSS_PROBE=OFF -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_INSTALL_PREFIX="$prefix" > "$dir/log" 2>&1 &&
    cmake --build "$copy/build" --target install >> "$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name stepsim.pc)")
export PKG_CONFIG_PATH
make -s -C "$source/tests/consumer" OUT="$dir/consumer"

# answer FOLDER_OF_PROGRAM ENGINE
answer() {
    "$1/stepsim" run --platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 4 --seq 4096 --mbs 1 --gbs 32 \
        --engine "$2" --json 2>&1
}
# installed FOLDER_OF_PROGRAM: what it and the outside program answer
installed() {
    answer "$1" native && answer "$1" simgrid && "$dir/consumer" h800
}
installed "$prefix/bin" > "$dir/before" || { cat "$dir/before"; fail "what is installed does not work"; }
answer "$copy/build" native > "$dir/build"

if grep -rlF "$copy" "$prefix"; then fail "these installed files name the folder they were built in"; fi

sed 's/"3.35TBps"/"1.00TBps"/' "$source/platforms/cards/h100.xml" > "$copy/platforms/cards/h100.xml" # h800's too
cat > "$dir/foreign.c" << 'END'
#include <stdio.h>
__attribute__((constructor)) static void foreign(void) { fputs("foreign code\n", stderr); }
END
echo 'int main(void) { return 1; }' >> "$dir/foreign.c"
"$CC" -shared -fPIC -o "$copy/build/stepsim-simgrid.so" "$dir/foreign.c"
if answer "$copy/build" native | cmp -s - "$dir/build"; then fail "the program of the build folder reads other data"; fi
answer "$copy/build" simgrid | grep -q 'foreign code' || fail "the program of the build folder loads another module"
rm "$copy/build/stepsim-simgrid.so"
cmake --build "$copy/build" > "$dir/log" 2>&1 || { cat "$dir/log"; fail "no module again"; }
"$CC" -o "$copy/build/stepsim-simgrid" "$dir/foreign.c"
answer "$copy/build" simgrid | grep -q 'foreign code' || fail "the program of the build folder starts another engine"

installed "$prefix/bin" > "$dir/after" || true
diff "$dir/before" "$dir/after" || fail "what is installed took something from the build folder"

# Moved as a whole; the outside program is told where the data is now.
mv "$prefix" "$dir/moved"
STEPSIM_DATA=$dir/moved/share/stepsim
export STEPSIM_DATA
"$dir/consumer" h800 > "$dir/outside"
unset STEPSIM_DATA
{ answer "$dir/moved/bin" native && answer "$dir/moved/bin" simgrid && cat "$dir/outside"; } > "$dir/after" || true
diff "$dir/before" "$dir/after" || fail "what is installed works in one place only"

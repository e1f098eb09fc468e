#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: foreign.sh BUILD_DIR SOURCE_ROOT C_COMPILER
# What is installed takes neither data nor code from the folders it was built in: no file of it names them, which the program of
# the build folder does, else this test sees nothing; all that it reads and loads is what stands beside it, wherever that is
# moved; and where that is gone it takes nothing of theirs.
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$2" && pwd)
CC=$3
export CC
unset STEPSIM_DATA STEPSIM_MODULE_DIR CFLAGS || true
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
prefix=$dir/prefix
cd "$dir"
fail() {
    echo "foreign.sh: $1"
    exit 1
}

# answer ENGINE: of the installed program
answer() {
    "$prefix/bin/stepsim" run --platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 4 --seq 4096 --mbs 1 --gbs 32 \
        --engine "$1" --json 2>&1
}
# outside: the answer of a program that was built with what is installed, and is told where the data is
outside() {
    STEPSIM_DATA=$prefix/share/stepsim LD_LIBRARY_PATH=$libraries "$dir/consumer" h800
}

cmake --install "$build" --prefix "$prefix" > log
for folder in "$build" "$source"; do
    grep -qF "$folder" "$build/stepsim" || fail "build/stepsim does not name $folder: no use to look for it"
    if grep -rlF "$folder" "$prefix"; then fail "these installed files name $folder"; fi
done
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name stepsim.pc)")
libraries=$(dirname "$PKG_CONFIG_PATH")
export PKG_CONFIG_PATH
make -s -C "$source/tests/consumer" OUT="$dir/consumer"
{ answer native && answer simgrid && outside; } > before || { cat before; fail "what is installed does not work"; }

mv prefix moved
prefix=$dir/moved
libraries=$prefix/${libraries#"$dir/prefix/"}
{ answer native && answer simgrid && outside; } > after || true
diff before after || fail "what is installed works in one place only"

# Other data, another module and another engine beside the program are those that it takes.
answer native > whole
sed -i 's/"3.35TBps"/"1.00TBps"/' "$prefix/share/stepsim/platforms/cards/h100.xml" # h800's too
if answer native | cmp -s - whole; then fail "the installed program reads other data than that beside it"; fi
cat > foreign.c << 'END'
#include <stdio.h>
__attribute__((constructor)) static void foreign(void) { fputs("foreign code\n", stderr); }
END
echo 'int main(void) { return 1; }' >> foreign.c
modules=$libraries/stepsim
mv "$modules/stepsim-simgrid" engine
"$CC" -o "$modules/stepsim-simgrid" foreign.c
answer simgrid | grep -q 'foreign code' || fail "the installed program starts another engine than that beside it"
mv engine "$modules/stepsim-simgrid"
"$CC" -shared -fPIC -o "$modules/stepsim-simgrid.so" foreign.c
answer simgrid | grep -q 'foreign code' || fail "the installed program loads another module than that beside it"

# Without them nothing of the folders it was built in stands in; another installation may.
rm -r "$prefix/share/stepsim" "$modules"
"$prefix/bin/stepsim" doctor > doctor 2>&1 || true
[ -s doctor ] || fail "doctor says nothing"
for folder in "$build" "$source"; do
    if grep -F "$folder" doctor; then fail "the installed program takes this of $folder"; fi
done

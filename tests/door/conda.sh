#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: conda.sh SOURCE_ROOT BUILD PYTHON
# Runs conda-forge's recipe on a copy of the sources with this machine's libraries in place of conda's: packaging/conda/build.sh installs the files
# of `cmake --install BUILD`, but for the modules that it switches off, and the recipe's own test commands pass.
set -eu
source=$(realpath "$1") build=$(realpath "$2") python=$3
folder=$(mktemp -d "${TMPDIR:-/tmp}/stepsim-conda-XXXXXX")
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/source"
cd "$source"
git ls-files -z > "$folder/files" 2> /dev/null || { echo "conda.sh: skipped: these sources are no clone"; exit 77; }
tar --null -T "$folder/files" -cf - | tar -xf - -C "$folder/source"
cd "$folder/source"
PREFIX=$folder/prefix SP_DIR=$folder/prefix/lib/python3/site-packages
export PREFIX SP_DIR CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-2}"
sh packaging/conda/build.sh > "$folder/log" 2>&1 || { tail -n 20 "$folder/log"; echo "conda.sh: error: build.sh failed"; exit 1; }
cmake --install "$build" --prefix "$folder/whole" > "$folder/log"
# files FOLDER: where Python and libraries are is the recipe's choice
files() {
    (cd "$1" && find . -type f -o -type l) | sed "s|^\./lib/[^/]*-linux-gnu/|./lib/|; s|^\./lib/python3[^/]*/[a-z]*-packages/|python/|" | LC_ALL=C sort
}
files "$folder/prefix" > "$folder/got"
files "$folder/whole" | grep -vE '^\./lib/stepsim/stepsim-(simgrid|simgrid\.so|mpi\.so)$|^\./bin/stepsim-probe' > "$folder/wanted"
diff "$folder/wanted" "$folder/got" || { echo "conda.sh: error: the recipe installs other files"; exit 1; }
sed -n '/^  commands:/,/^[a-z]/s/^    - //p' packaging/conda/meta.yaml > "$folder/commands"
[ "$(wc -l < "$folder/commands")" -ge 3 ] || { echo "conda.sh: error: no test commands"; exit 1; }
ln -s "$(command -v "$python")" "$PREFIX/bin/python"
while IFS= read -r command; do
    (cd "$folder" && env -i PATH="$PREFIX/bin" PYTHONPATH="$SP_DIR" /bin/sh -c "$command") > "$folder/log" 2>&1 || { cat "$folder/log"; echo "conda.sh: error: $command"; exit 1; }
done < "$folder/commands"
echo "conda.sh: passed: $(wc -l < "$folder/got") files, $(wc -l < "$folder/commands") commands"

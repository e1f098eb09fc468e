#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sources.sh FOLDER [--tar-only] PACKAGE...
# Fetches the sources of Debian packages, of this machine's release, into FOLDER/source; apt's lists of sources are FOLDER's own.
set -eu
folder=$(realpath -m "$1")
shift
mkdir -p "$folder/parts" "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/source"
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
apt-get -q source "$@"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh must pass what is as expected, fail on each kind of difference, and rewrite when asked.
set -eu
run=$(cd "$(dirname "$0")" && pwd)/run.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
group=$dir/tests/cli/g
failed=0
mkdir -p "$group"
printf '#!/bin/sh\necho "out $1"\necho "err $1" >&2\nexit 3\n' > "$dir/program"
chmod +x "$dir/program"
cat > "$group/a.cmd" << 'CMD'
[ -z "$(ls -A)" ] && "$STEPSIM" "$SRC/x"
CMD

# expect STATUS "what was done"
expect() {
    status=0
    sh "$run" "$dir/program" "$dir" g > "$dir/log" 2>&1 || status=1
    [ "$status" = "$1" ] || { echo "$2: status $status, wanted $1"; cat "$dir/log"; failed=1; }
}
expect 1 "nothing expected yet"
UPDATE=1 sh "$run" "$dir/program" "$dir" g > /dev/null
[ "$(cat "$group/a.out" "$group/a.err" "$group/a.exit")" = "out SRC/x
err SRC/x
3" ] || { echo "UPDATE=1 wrote something else"; failed=1; }
expect 0 "as written by UPDATE=1"
for what in out err exit; do
    cp "$group/a.$what" "$dir/kept"
    echo 9 > "$group/a.$what"
    expect 1 "another $what"
    rm "$group/a.$what"
    expect 1 "no $what file"
    cp "$dir/kept" "$group/a.$what"
done
expect 0 "all put back"
rm "$group/a.cmd"
expect 1 "a group without commands"
exit $failed

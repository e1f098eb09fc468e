. "$SRC/tests/cli/platforms/damage.sh"
: > bad.xml; echo 1 > line; check

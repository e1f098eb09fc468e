. "$SRC/tests/cli/platforms/damage.sh"
head -n 20 "$SRC/platforms/h800.xml" > bad.xml; echo 20 > line; check

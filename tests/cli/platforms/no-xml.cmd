. "$SRC/tests/cli/platforms/damage.sh"
echo "48 layers" > bad.xml; echo 1 > line; check

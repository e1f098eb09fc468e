. "$SRC/tests/cli/platforms/damage.sh"
damage nothing nothing; echo 0 > line; check

. "$SRC/tests/cli/platforms/damage.sh"
damage "</zone>" ""; check

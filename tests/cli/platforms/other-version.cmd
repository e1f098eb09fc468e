. "$SRC/tests/cli/platforms/damage.sh"
damage "version=\"4.1\"" "version=\"3\""; check

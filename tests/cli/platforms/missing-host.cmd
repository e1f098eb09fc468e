. "$SRC/tests/cli/platforms/damage.sh"
damage ".*host id=\"gpu-0-3\".*" ""; check

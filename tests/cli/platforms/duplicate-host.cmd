. "$SRC/tests/cli/platforms/damage.sh"
damage "host id=\"gpu-0-1\"" "host id=\"gpu-0-0\""; check

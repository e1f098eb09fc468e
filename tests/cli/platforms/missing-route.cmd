. "$SRC/tests/cli/platforms/damage.sh"
damage ".*route src=\"gpu-0-0\" dst=\"nvswitch-0\".*" ""; check

. "$SRC/tests/cli/platforms/damage.sh"
damage "route src=\"gpu-0-0\"" "route src=\"gpu-9-9\""; check

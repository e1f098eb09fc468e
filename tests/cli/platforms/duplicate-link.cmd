. "$SRC/tests/cli/platforms/damage.sh"
damage "link id=\"nvlink-0-1\"" "link id=\"nvlink-0-0\""; check

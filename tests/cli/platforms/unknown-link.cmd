. "$SRC/tests/cli/platforms/damage.sh"
damage "link_ctn id=\"nvlink-0-0\"" "link_ctn id=\"nvlink-9-9\""; check

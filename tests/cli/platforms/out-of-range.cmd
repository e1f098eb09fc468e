. "$SRC/tests/cli/platforms/damage.sh"
damage "ss.hbm.efficiency\" value=\"[0-9.]*" "ss.hbm.efficiency\" value=\"1.5"; check

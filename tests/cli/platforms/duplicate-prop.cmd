. "$SRC/tests/cli/platforms/damage.sh"
damage ".*ss.hbm.bandwidth.*" "&&"; check

. "$SRC/tests/cli/platforms/damage.sh"
damage "bandwidth=\"200GBps" "bandwidth=\"0GBps"; check

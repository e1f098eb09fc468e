. "$SRC/tests/cli/platforms/damage.sh"
damage "latency=\"500ns" "latency=\"-500ns"; check

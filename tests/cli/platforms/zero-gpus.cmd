. "$SRC/tests/cli/platforms/damage.sh"
damage "ss.gpus_per_node\" value=\"8" "ss.gpus_per_node\" value=\"0"; check

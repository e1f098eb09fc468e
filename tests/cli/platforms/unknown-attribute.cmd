. "$SRC/tests/cli/platforms/damage.sh"
damage "speed=" "velocity="; check

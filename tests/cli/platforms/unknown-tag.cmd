. "$SRC/tests/cli/platforms/damage.sh"
damage "<router id=\"nvswitch-0\"/>" "<rooter id=\"nvswitch-0\"/>"; check

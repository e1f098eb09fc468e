. "$SRC/tests/cli/platforms/damage.sh"
damage 3.35TBps fast; check

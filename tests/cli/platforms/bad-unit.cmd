. "$SRC/tests/cli/platforms/damage.sh"
damage 3.35TBps 3.35TB; check

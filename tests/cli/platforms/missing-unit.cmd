. "$SRC/tests/cli/platforms/damage.sh"
damage 3.35TBps 3350000000000; check

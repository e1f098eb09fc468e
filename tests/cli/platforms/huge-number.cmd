. "$SRC/tests/cli/platforms/damage.sh"
damage 3.35TBps 1e999TBps; check

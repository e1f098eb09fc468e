. "$SRC/tests/cli/platforms/damage.sh"
damage ss.hbm.bandwidth ss.hbm.bandwith; check

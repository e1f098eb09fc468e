. "$SRC/tests/cli/platforms/damage.sh"
damage 3.35TBps 3.35TB; "$STEPSIM" platform check --json bad.xml | sed "s/\"line\": $(cat line),/\"line\": LINE,/"

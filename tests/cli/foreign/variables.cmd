export STEPSIM_COLUMNS=1000 # whole lines
$STEPSIM run --verbose --platform h100 --nodes 1 --job $SRC/tests/launch/model_args.yaml TP=2 PP=2 MBS=1 > all; sed -n "4,6p" all

export STEPSIM_COLUMNS=1000 # whole lines
$STEPSIM run --verbose --platform h100 --launch $SRC/tests/launch/nemo/pretrain.sh > all; sed -n "4,6p" all

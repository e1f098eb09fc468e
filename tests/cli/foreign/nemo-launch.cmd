$STEPSIM run --platform h100 --launch $SRC/tests/launch/nemo/pretrain.sh > all; sed -n "2,4p" all

export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" calibrate --platform v100 --rows runs --stack megatron-2021 --prop ss.optimizer.passes=0.6:4 --stack-output mine.xml | grep -c 'ss.optimizer.passes.*in 0.6..4'; grep -c 'prop id="ss.optimizer.passes"' mine.xml; sed -n 2p mine.xml

export STEPSIM_COLUMNS=1000 # whole lines
mkdir no-modules; STEPSIM_DATA=/nonexistent STEPSIM_MODULE_DIR=$PWD/no-modules "$STEPSIM" doctor > out; echo "exit $?"; grep -e ' data ' -e ' self-test ' -e predictions out; grep ' serve ' out | cut -c 1-14

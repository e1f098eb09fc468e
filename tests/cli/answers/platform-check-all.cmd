"$STEPSIM" platform check "$SRC"/platforms/*.xml

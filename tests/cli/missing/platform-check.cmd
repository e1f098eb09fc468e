"$STEPSIM" platform check ./none.xml

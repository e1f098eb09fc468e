"$STEPSIM" platform import ./none.xml

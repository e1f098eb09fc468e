"$STEPSIM" platform show ./none.xml

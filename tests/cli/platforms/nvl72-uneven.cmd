"$STEPSIM" platform show gb200 --nodes 38

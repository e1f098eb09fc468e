"$STEPSIM" sweep --job 8b-05 --vary tp=2,4 --vary tensor-model-parallel-size=1,2

printf "model: {a: 1}\n" > a.yaml; $STEPSIM run --verbose --platform h100 --job a.yaml 2>&1 | sed "s/: give one of.*//"

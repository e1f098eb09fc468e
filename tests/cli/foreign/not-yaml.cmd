printf "model:\n  a: [1\n" > a.yaml; $STEPSIM run --platform h100 --job a.yaml

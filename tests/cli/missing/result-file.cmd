"$STEPSIM" compare 70b-14 nosuch.json --platform h800; "$STEPSIM" run --platform h800 --job nosuch.yaml; "$STEPSIM" run --platform h800 --model llama3.1-8b --stack mine.toml

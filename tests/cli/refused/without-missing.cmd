printf '%s\n' '--platform h800 --model llama3.1-8b' '--without tp' > w.args; "$STEPSIM" run --job w.args

mkdir d.args; "$STEPSIM" run --job d.args

"$STEPSIM" import --tp 2 --lr=1e-4 --hybrid-layer-pattern M --no-rope-fusion --data-path a b --json | sed '/version/d'

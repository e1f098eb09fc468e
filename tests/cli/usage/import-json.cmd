"$STEPSIM" import --tp 2 --lr=1e-4 --num-zero-experts 4 --no-rope-fusion --data-path a b --json | sed '/version/d'

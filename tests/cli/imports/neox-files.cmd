cp "$SRC"/tests/import/neox/configs/*.yml .
"$STEPSIM" import --job local_setup.yml --job model.yml | grep -e vocab -e '--pp' -e nodes
"$STEPSIM" import --job model.yml --job local_setup.yml | sed -n '/mbs/p'

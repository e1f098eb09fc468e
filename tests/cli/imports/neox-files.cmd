cp "$SRC"/tests/import/neox/configs/*.yml .
"$STEPSIM" import --job local_setup.yml --job model.yml | sed -n '5,14p'
"$STEPSIM" import --job model.yml --job local_setup.yml | sed -n '/mbs/p'

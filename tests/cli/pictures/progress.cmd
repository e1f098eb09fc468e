# A line that rises on a terminal, nothing in a pipe.
"$STEPSIM" program read "$SRC/docs/examples/two-ranks.prog" --trace t.json 2>&1 | grep -c drawing
script -qec '"$STEPSIM" program read "$SRC/docs/examples/two-ranks.prog" --trace t.json' /dev/null | tr '\r' '\n' | grep '^drawing' | sed -n '1p;$p'

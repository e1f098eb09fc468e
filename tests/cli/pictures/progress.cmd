# A line that rises is for a terminal; nothing of it in a pipe.
"$STEPSIM" program read "$SRC/docs/guide/examples/two-ranks.prog" --trace t.json 2>&1 | grep -c drawing
exit 0

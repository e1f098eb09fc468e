# Every picture of one run; nothing else is written, nothing on stderr.
"$STEPSIM" program read "$SRC/docs/guide/examples/two-ranks.prog" --gantt g.svg --memory m.svg --trace t.json.gz --report r.html --json > answer.json &&
ls && gzip -t t.json.gz && gzip -dc t.json.gz | head -n 4 && head -c 4 g.svg m.svg && echo && head -n 1 r.html

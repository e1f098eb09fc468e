for s in gpipe zb-h1 zb-h2 zb-v dualpipev looped-bfs eager-1f1b; do "$STEPSIM" schedule write $s --pp 4 -m 8 -o a.csv && "$STEPSIM" schedule write a.csv -o b.csv && cmp a.csv b.csv && echo $s; done

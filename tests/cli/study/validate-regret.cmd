# Of the layouts of two public studies, the one predicted fastest is on average so much slower at most than the one measured fastest (%), and so many pairs are ranked right at least; whatever the number of workers.
export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" validate --regret nanotron alephalpha --workers 2 --csv two.csv --svg two.svg > two.txt && awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["part"] == "all" { print $1, ($at["regret_pct"] <= ($1 == "nanotron" ? 24 : 7)), ($at["pairs_right"] >= 0.85 * $at["pairs"]), $at["ran"] }
    $at["part"] == "group" { n[$1]++ }
    END { print n["nanotron"], n["alephalpha"] }' two.csv && grep -c '<circle' two.svg && grep -c '^mean of' two.txt && grep -o ', worst' two.txt
"$STEPSIM" validate --regret alephalpha --workers 1 --csv one.csv > one.txt && grep ^alephalpha two.csv > aa.csv && tail -n +2 one.csv | cmp - aa.csv

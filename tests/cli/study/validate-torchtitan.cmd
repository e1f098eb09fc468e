# Memory that torchtitan's repository tells: rows of quality B that are off by more than 6 %, and verdicts that are wrong.
"$STEPSIM" validate torchtitan-memory --workers 2 --csv titan.csv > titan.txt && awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["quality"] != "B" { next }
    { rows++ }
    $at["right"] != "yes" { print $at["id"], "is wrong:", $at["predicted_outcome"] }
    $at["memory_error_pct"] != "" && ($at["memory_error_pct"] > 6 || $at["memory_error_pct"] < -6) { print $at["id"], $at["memory_error_pct"] }
    END { print rows, "rows" }' titan.csv

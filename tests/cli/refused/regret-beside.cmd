for w in "--update" "runs --against x.csv" "--timer-rows x.csv" "--coverage"; do "$STEPSIM" validate --regret $w; echo $?; done

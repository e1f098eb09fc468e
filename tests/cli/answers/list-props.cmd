export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" list props | grep -E ' ss\.(sm_count|nic\.bandwidth|oversubscription|template|framework|te\.layers) '; "$STEPSIM" list --json | grep ss.nic

printf '# of a fork\n--tp 2\n--hybrid-layer-pattern M-M\n--our-own-flag 3\n--lr 1\n' > job.args; "$STEPSIM" import job.args

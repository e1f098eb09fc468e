printf '# of a fork\n--tp 2\n--num-zero-experts 4\n--our-own-flag 3\n--lr 1\n' > job.args; "$STEPSIM" import job.args

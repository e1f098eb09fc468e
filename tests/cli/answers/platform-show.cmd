"$STEPSIM" platform show v100 --nodes 3 | sed "s/hash .*/hash/" | sed -n "1p;/^Links/,/^$/p"

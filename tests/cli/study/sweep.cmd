"$STEPSIM" sweep --job 70b-14 --platform h800 --vary nodes=8,16 --vary --vp=1,2,3 | sed 's/ +-[0-9.]* % an/ an/; s/[0-9][0-9]*\.[0-9]* *[sm]*/N /g'

"$STEPSIM" validate | grep -A1 '^8b-0[5678]' | grep -o 'memory like stage .*'; "$STEPSIM" validate reread --json | sed -n 's/^ *"\(predicted_outcome\|quality\)": "\(.*\)",/\2/p' | sort | uniq -c

"$STEPSIM" validate runs --json | sed -n 's/^ *"outcome": "\(.*\)",/\1/p' | sort | uniq -c

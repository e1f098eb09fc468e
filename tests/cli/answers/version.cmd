"$STEPSIM" version | sed "s/[0-9.]*$/N/"; "$STEPSIM" --version | cmp - /dev/null > /dev/null || echo also as an option

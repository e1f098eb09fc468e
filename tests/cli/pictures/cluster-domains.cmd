for n in 5 36 144; do "$STEPSIM" platform draw gb200 --nodes $n | grep -o '<text[^>]*>[^<]*' | sed 's/.*>//' | grep -iE 'node|domain|of [0-9]|^[0-9]* GPUs'; done

#!/bin/bash
# Several jobs, one a turn.
python3 tools/preprocess_data.py --input a.json
for TP in 2 4; do
    LAYERS=$(python -c "print(8 * 4)")
    ./helper.sh $TP $LAYERS
done

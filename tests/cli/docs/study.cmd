# The study's page is what its script prints; else: sh docs/refresh.sh
sh "$SRC/docs/guide/study-70b-8-vs-16.sh" "$STEPSIM" > printed
python3 "$SRC/tests/close.py" "$SRC/docs/guide/study-70b-8-vs-16-nodes.md" printed && [ -s printed ]

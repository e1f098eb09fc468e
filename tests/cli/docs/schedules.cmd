# The comparison of schedules is what its script prints; else: sh docs/refresh.sh
sed -n '/<!-- cluster begin/,/<!-- cluster end/p' "$SRC/docs/guide/schedules.md" | sed '1d;$d' > shown
sh "$SRC/docs/guide/schedules.sh" "$STEPSIM" > printed
python3 "$SRC/tests/close.py" shown printed && [ -s shown ]

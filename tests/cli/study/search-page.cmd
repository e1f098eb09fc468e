# A search as a page: its text is that without the page, its table has the best and the front, and a second page is refused
ROOM=$(mktemp -d)
"$STEPSIM" search --platform h100 --nodes 1 --model llama3.2-1b --seq 2048 --gbs 32 --cp 1 --fsdp none --recompute none --csv "$ROOM/t.csv" --report "$ROOM/p.html" > "$ROOM/with.txt"
"$STEPSIM" search --platform h100 --nodes 1 --model llama3.2-1b --seq 2048 --gbs 32 --cp 1 --fsdp none --recompute none > "$ROOM/without.txt"
cmp "$ROOM/with.txt" "$ROOM/without.txt" && echo the same text
grep -o '<h2>[^<]*' "$ROOM/p.html"
grep -c '<td>the best</td>' "$ROOM/p.html"
grep -c '<td>yes</td>' "$ROOM/p.html"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "front") c = i; next } $c == 1 { n++ } END { print n + 0 }' "$ROOM/t.csv"
(cd "$ROOM" && "$STEPSIM" search --platform h100 --nodes 1 --model llama3.2-1b --seq 2048 --gbs 32 --cp 1 --fsdp none --recompute none --report none/p.html > no.txt; echo "status $?")
(cd "$ROOM" && "$STEPSIM" search --platform h100 --nodes 1 --model llama3.2-1b --seq 2048 --gbs 32 --cp 1 --tp 1 --pp 1 --fsdp none --recompute none --report w.html --width 700 > w.txt; grep -c "<svg[^>]* width=\"700\"" w.html)
rm -r "$ROOM"

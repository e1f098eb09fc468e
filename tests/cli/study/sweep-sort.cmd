export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" sweep --job 70b-14 --platform h800 --vary nodes=8,16 --vary --vp=1,2,3 --sort iteration_ms --top 2 --csv t.csv --svg p.svg --report p.html | sed 's/[0-9][0-9]*\.[0-9]* *[sm]*/N /g'; cut -d, -f1-3 t.csv; grep -c '<rect class="b"' p.svg p.html; grep -o '<p>[a-z ]*:' p.html; tail -n 1 p.html

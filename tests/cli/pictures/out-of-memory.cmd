# A job that does not fit has its pictures too.
"$STEPSIM" run --verbose --platform h800 --nodes 1 --model llama3.1-70b --bf16 --tp 8 --seq 4096 --mbs 1 --gbs 8 --report r.html --memory m.svg > answer.txt
echo "exit $?"
grep -o '<h1>[^<]*</h1>' r.html | sed 's/[0-9.]* m\{0,1\}s/TIME/'
grep -o '<h2>What makes it fit</h2>' r.html
grep -c 'class="cap"' m.svg

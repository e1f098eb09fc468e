# A billion seconds, then ten thousand billion: a trace and a page tell any time that a replay may take, the rest is refused.
text='program long\nclass a {\nmemory weights 1MiB\nslot x F 0 0 {\ncompute 9600000000s\n}\nslot y B 0 0 {\ncompute 500ms\n}\n}\n'
# shellcheck disable=SC2059 # the text is a format
printf "$text" > long.prog
"$STEPSIM" program read long.prog --trace t.json --report r.html
grep -o '"ts":[^,]*,"dur":[^,]*' t.json
python3 -c 'import json; json.load(open("t.json"))' && echo "JSON"
sed -n 's/.*id="data">\([^<]*\)<.*/\1/p' r.html | base64 -d | gunzip | grep -o '"boxes":[^]]*]'
sed 's/9600000000s/9600000000000s/' long.prog > longer.prog
"$STEPSIM" program read longer.prog || echo "exit $?"
for engine in native simgrid; do
    "$STEPSIM" run --verbose --platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 4 --seq 4096 --mbs 1 --gbs 32 --straggler 0:1000000 \
        --straggler 0:1000000 --straggler 0:1000000 --engine $engine || echo "exit $?"
done

"$STEPSIM" schedule compare --schedules 1f1b,zb-v,dualpipe --pp 2 --microbatches 3 --gantt a.svg > /dev/null
grep -o 'data-schedule="[a-z0-9-]*"' a.svg
grep -c '<rect class="b"' a.svg
grep -o '>1f1b: [^<]*' a.svg
"$STEPSIM" schedule compare --schedules 1f1b,zb-v --platform h100 --nodes 1 --model llama3-8b --bf16 --tp 2 --pp 4 --gbs 8 --mbs 1 --seq 4096 --gantt b.svg > /dev/null
grep -o 'data-schedule="[a-z0-9-]*"' b.svg
grep -c '<rect class="b"' b.svg
"$STEPSIM" schedule compare --schedules 1f1b --pp 2 --microbatches 3 --gantt a.svg -o a.svg

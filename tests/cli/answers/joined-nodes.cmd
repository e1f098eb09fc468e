export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" run --verbose --engine native --platform gb200 --nodes 36 --model llama3.1-8b --seq 4096 --mbs 1 --gbs 144 --bf16 | sed -n 4p
job="--model llama3.1-8b --seq 4096 --mbs 1 --gbs 144 --bf16 --use-distributed-optimizer"
"$STEPSIM" search --platform gb200 --vary nodes=18,36 $job --tp 1 --cp 1 --pp 1 --vp 1 --recompute none --unconfirmed --csv x.csv | grep -v '^$'; cut -d, -f1,8 x.csv
"$STEPSIM" run --engine native --platform gb200 --nodes 36 $job --json --ranks-csv r.csv | grep -A4 -e '"nodes": '; sed -n '2p;6p;$p' r.csv | cut -d, -f1,5,6
for i in $(seq 35 -1 0); do echo "node $i"; done > places; "$STEPSIM" run --engine native --platform gb200 --nodes 36 $job --placement places --ranks-csv r.csv --brief; sed -n '2p;6p' r.csv | cut -d, -f1,5,6
for where in "--on-nodes 0-17" "--nodes 18 --cluster-nodes 36"; do "$STEPSIM" run --verbose --platform gb200 $where $job; done
"$STEPSIM" platform show gb200 | sed -n '1s/, hash.*//p;2p'; "$STEPSIM" list platforms | grep gb

export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" search --platform h800 --vary nodes=1..2 --model llama3.1-8b --bf16 --seq 4096 --gbs 32 --vary mbs=1,2 --vary recompute=none,full --cp 1 --top 3 --csv s.csv --svg s.svg --unconfirmed; wc -l < s.csv; grep -c "<circle" s.svg
"$STEPSIM" search --platform h800 --nodes 1 --model llama3.1-8b --bf16 --seq 4096 --gbs 32 --csv x.svg --svg x.svg
"$STEPSIM" search --platform h800 --nodes 1 --model llama3.1-70b --bf16 --seq 8192 --gbs 8 --recompute none --mbs 1 --cp 1

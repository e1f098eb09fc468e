export STEPSIM_COLUMNS=1000 # whole lines
printf 'id,platform,nodes,model,precision,micro_batch,global_batch,seq_length\nb,h800,1,llama3.1-8b,bf16,1,16,4096\na,h800,1,llama3.1-8b,bf16,1,16,4096\nb,h800,1,llama3.1-8b,bf16,1,8,4096\n' > mine.csv; "$STEPSIM" validate mine.csv | grep -E "^(a|b) |^note: mine|same id|that of line" | cut -c1-70

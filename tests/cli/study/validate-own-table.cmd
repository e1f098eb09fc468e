export STEPSIM_COLUMNS=1000 # whole lines
printf 'id,platform,nodes,model,precision,tp,pp,micro_batch,global_batch,seq_length,iteration_ms,colour\nmine,h800,1,llama3.1-8b,bf16,2,2,1,16,4096,1000,red\n' > mine.csv; "$STEPSIM" validate mine.csv | awk '/^mine/ { print $1, $2, $3, $4, $7, $9, NF } /note:/'

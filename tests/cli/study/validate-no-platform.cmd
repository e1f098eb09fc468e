printf 'id,platform,nodes,model,precision,micro_batch,global_batch,seq_length\nmine,h9000,1,llama3.1-8b,bf16,1,16,4096\n' > mine.csv; "$STEPSIM" validate mine.csv 2>&1 | cut -c1-60

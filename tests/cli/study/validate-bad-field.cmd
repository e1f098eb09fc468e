printf 'id,platform,nodes,model,precision,micro_batch,global_batch,seq_length\nmine,h800,1,llama3.1-8b,bf17,1,16,4096\n' > mine.csv; "$STEPSIM" validate mine.csv

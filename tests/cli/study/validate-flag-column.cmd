printf 'id,platform,nodes,model,micro_batch,global_batch,seq_length,flag\nmine,h800,1,llama3.1-8b,1,16,4096,\n' > mine.csv; "$STEPSIM" validate mine.csv | grep column

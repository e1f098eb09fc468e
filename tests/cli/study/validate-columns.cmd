export STEPSIM_COLUMNS=1000 # whole lines
printf 'id;platform;nodes\nr1;h100;2\n' > semicolons.csv
printf 'ID,platform\nr1,h100\n' > letters.csv
printf 'id, platform ,nodes\nr1,h100,2\n' > blanks.csv
printf 'id,platform,nodes,model,micro_batch,global_batch,seq_length,precision,fsdp,memory_mib\nr1,h100,1,llama3.1-8b,1,8,4096,bf16,full,36.1\n' > gib.csv
for table in semicolons letters blanks; do "$STEPSIM" validate $table.csv; done
"$STEPSIM" validate gib.csv | grep -A 1 '^r1'

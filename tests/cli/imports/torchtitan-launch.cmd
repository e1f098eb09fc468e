export STEPSIM_COLUMNS=1000 # whole lines
cp "$SRC/tests/import/torchtitan/llama3_405b.toml" .
printf 'torchrun --nproc_per_node=${NGPU:-8} --nnodes 16 -m torchtitan.train --job.config_file ${CONFIG_FILE} "$@"\n' > run.sh
"$STEPSIM" run --verbose --platform h100 --env CONFIG_FILE=./llama3_405b.toml --launch run.sh -- --training.seq_len 4096 | sed -n '4,6p'

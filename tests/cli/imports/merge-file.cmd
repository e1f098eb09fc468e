# Megatron's pretrain_gpt.py has GPT-2's tokenizer where a script names none, but its files; a tokenizer that is named beats it.
export STEPSIM_COLUMNS=1000 # whole lines
job() { "$STEPSIM" run --verbose --platform h100 --nodes 1 --engine native --num-layers 2 --hidden-size 1024 --num-attention-heads 8 --seq 1024 --max-position-embeddings 1024 --mbs 1 --gbs 8 --bf16 "$@" 2>&1 | grep -E 'parameters|error'; }
job --vocab-file v.json --merge-file m.txt
job --vocab-size 50257
job --merge-file m.txt --tokenizer-type HuggingFaceTokenizer
job --tokenizer-type HuggingFaceTokenizer --merge-file m.txt
printf 'MODEL_ARGS:\n  --num-layers: 2\n  --merge-file: ${DATA_PATH}/merges.txt\n' > job.yaml
job --job job.yaml

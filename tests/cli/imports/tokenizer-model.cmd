# A tokenizer of the hub is not read: where nothing else tells the vocabulary it is that of the model of its name, which beats no flag.
job() { "$STEPSIM" run --verbose --platform h100 --nodes 1 --engine native --num-layers 2 --hidden-size 1024 --num-attention-heads 8 --seq 1024 --mbs 1 --gbs 8 --bf16 --position-embedding-type rope "$@" 2>&1 | grep -E 'parameters,|error|is not read'; }
job --tokenizer-type HuggingFaceTokenizer --tokenizer-model deepseek-ai/DeepSeek-V3
job --vocab-size 129280
job --tokenizer-type HuggingFaceTokenizer --tokenizer-model Qwen/Qwen3-8B-Instruct --vocab-size 129280
job --tokenizer-type HuggingFaceTokenizer --tokenizer-model /data/tokenizer.model
printf 'MODEL_ARGS:\n  --tokenizer-type: HuggingFaceTokenizer\n  --tokenizer-model: ${WHERE}\n' > job.yaml
job --job job.yaml
job --job job.yaml WHERE=meta-llama/Meta-Llama-3-8B

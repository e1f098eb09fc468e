# what Hugging Face states of these checkpoints: 152064, 151936 and 128256 rows of the vocabulary
for name in Qwen/Qwen2.5-7B-Instruct Qwen/Qwen2.5-0.5B meta-llama/Llama-3.1-8B; do
    printf 'model_name_or_path: %s\nstage: sft\nfinetuning_type: full\nbf16: true\n' $name > job.yaml
    "$STEPSIM" run --platform h100 --nodes 1 --job job.yaml --json | sed -n 's/^  *\("padded_vocab_size": .*\)/\1/p; s/^  \("parameters": .*\)/\1/p'
done

cp "$SRC/tests/import/torchtitan/llama3_8b.toml" "$SRC/tests/import/nanotron/llama.yaml" .
for file in llama3_8b.toml llama.yaml; do for more in "" "--nodes 1" "--nodes 8" "--platform gb200"; do
    "$STEPSIM" run --platform h100 --job $file $more --json | grep -E '^  "gpus"|it is for'
done; done

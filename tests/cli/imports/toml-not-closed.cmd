printf '# llama3\n[model\nname = "llama3"\n' > t.toml; "$STEPSIM" run --platform h100 --nodes 2 --job t.toml

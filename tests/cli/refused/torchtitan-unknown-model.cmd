sed 's/"405B"/"9B"/' "$SRC/tests/import/torchtitan/llama3_405b.toml" > t.toml; grep -c '"9B"' t.toml
"$STEPSIM" run --verbose --job t.toml --nodes 8 --platform h100
"$STEPSIM" run --verbose --launch t.toml --nodes 8 --platform h100

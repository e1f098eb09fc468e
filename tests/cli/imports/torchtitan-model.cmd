printf '[model]\nname = "llama3"\nflavor = "9B"\n[training]\n[activation_checkpoint]\nmode = "none"\n' > job.toml
"$STEPSIM" run --platform h100 --nodes 1 --job job.toml

printf '[model]\nflavor = "8B"\n[training]\nseq_length = 4096\n' > job.toml
"$STEPSIM" run --platform h100 --nodes 1 --job job.toml

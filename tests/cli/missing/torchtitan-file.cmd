printf '# torchtitan\ntorchrun --nnodes 1 --nproc_per_node 8 -m torchtitan.train --job.config_file none.toml\n' > job.args; "$STEPSIM" run --platform h100 --job job.args

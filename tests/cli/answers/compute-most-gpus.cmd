for n in 16384 32768; do "$STEPSIM" run --job 405b-16k --nodes $n --gbs $((n * 8)) --engine native --json | grep -c '"kernels"' || true; done

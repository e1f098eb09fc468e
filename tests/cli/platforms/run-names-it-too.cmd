. "$SRC/tests/cli/platforms/damage.sh"
damage 3.35TBps 3.35TB; "$STEPSIM" run --verbose --platform bad.xml --nodes 1 --model llama3.1-8b --bf16 --mbs 1 --gbs 8 --seq 1024 2>&1 | sed "s/bad.xml:$(cat line):/bad.xml:LINE:/"

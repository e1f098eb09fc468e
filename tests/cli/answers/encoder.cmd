# An encoder of pictures on the first stage: the text alone where no pictures are told, trained, frozen, recomputed, with fewer layers beside it.
export STEPSIM_COLUMNS=1000 # whole lines
job="--platform h100 --nodes 2 --bf16 --tp 2 --pp 4 --sequence-parallel --seq 8192 --mbs 1 --gbs 32 --use-distributed-optimizer --stack megatron-bridge-26.08 --recipe none"
for f in "" "--images 2 --img-h 1024" "--images 2 --img-h 1024 --freeze-ViT" "--images 2 --img-h 1024 --recompute full" "--images 2 --img-h 1024 --decoder-first-pipeline-num-layers 3"; do "$STEPSIM" run --model qwen3-vl-8b $job $f --brief; done
"$STEPSIM" run --verbose --model internvl3-8b $job --images 4 | grep "B parameters\|^Stage . computes"
"$STEPSIM" run --model qwen3-vl-8b $job --json | grep -o '"config_not_priced": .*'
"$STEPSIM" run --verbose --model qwen3-vl-8b $job --images 2 || echo "exit $?"

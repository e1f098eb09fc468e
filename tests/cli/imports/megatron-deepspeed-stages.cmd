export STEPSIM_COLUMNS=1000 # whole lines
printf '{"zero_optimization": {"stage": 1}, "train_batch_size": 32, "train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}}' > ds.json
job='deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py --deepspeed --deepspeed_config ds.json --zero-stage 1 --num-layers 10 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 32 --vocab-size 32000 --pipeline-model-parallel-size 4'
echo "$job" > even.args
echo "$job --pp-partition-method 'type:transformer|embedding' --num-layers 6" > embedding.args
echo "$job --colour red --taste sour --level 3" > unknown.args
"$STEPSIM" run --platform h100 --job even.args --json | grep -e '"last_stage_layers"'
"$STEPSIM" import --job embedding.args | grep -e partition
"$STEPSIM" import --job unknown.args | grep -e colour -e partition
"$STEPSIM" run --verbose --platform h100 --job unknown.args
"$STEPSIM" run --verbose --platform h100 --drop-unknown --job unknown.args | sed -n '2,3p'
echo "$job --num-experts 8 --partition-activations" > refused.args
"$STEPSIM" run --verbose --platform h100 --job refused.args

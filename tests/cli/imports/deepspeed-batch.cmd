# DeepSpeed asks train_batch_size = micro batch x accumulation x data-parallel ranks: 64 = 2 x 4 x 8
printf '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2,\n "gradient_accumulation_steps": 4, "bf16": {"enabled": true}}\n' > ds.json
words() { "$STEPSIM" import --job "$1" 2>&1 | grep -E 'gbs|ranks|multiple'; }
words ds.json
for nodes in 1 2; do
    echo "torchrun --nnodes $nodes --nproc_per_node 8 a.py --model_name_or_path Qwen/Qwen3-8B --deepspeed ds.json" > run.txt
    words run.txt
done
# 32 GPUs in tensor groups of 2 and pipelines of 2 are 8 ranks, 16 GPUs are 4
for nodes in 4 2; do
    echo "torchrun --nnodes $nodes --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --deepspeed --deepspeed_config ds.json" > run.txt
    words run.txt
done
sed -i 's/64/60/' ds.json
words ds.json

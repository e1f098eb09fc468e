/opt/env/bin/python -m torch.distributed.run --nnodes 4 --nproc-per-node=8 pretrain_gpt.py --num-layers $2 --hidden-size 4096 --num-attention-heads 32 \
    --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 128 --bf16 --vocab-size 50257 \
    --tensor-model-parallel-size $1 --pipeline-model-parallel-size 4 &
wait

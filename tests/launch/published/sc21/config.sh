# Of table-1.sh: what all runs share.
export CODE=/opt/megatron
export PARAMS=" ${EXTRA} \
    --tensor-model-parallel-size ${TP} \
    --pipeline-model-parallel-size ${PP} \
    --micro-batch-size ${MBS} \
    --global-batch-size ${GBS} \
    --num-layers ${NLS} --hidden-size ${HS} --num-attention-heads ${NAH} \
    --DDP-impl ${DDP} --data-path /data/text --vocab-file v.json --merge-file m.txt \
    --log-interval 5 --seq-length 2048 --max-position-embeddings 2048 --train-iters 500 \
    --lr 0.0001 --split 969,30,1 --clip-grad 1.0 --fp16 --loss-scale 8192 "

for flags in "--num-query-groups 8" "--group-query-attention --num-query-groups=8"; do
    echo "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py --num-layers 2 $flags" > job.txt
    "$STEPSIM" import --job job.txt | grep group
done

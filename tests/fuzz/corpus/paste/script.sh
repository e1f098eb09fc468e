A=(--num-layers 4 # x
 --hidden-size 64)
if [ -z $B ]; then B=1; elif [ $B = 2 ]; then B=3; fi
case $B in 1|2) C=$((B * 4 % 3));; *) C=5;; esac
torchrun --nnodes $NNODES --nproc_per_node 8 pretrain_gpt.py "${A[@]}" --micro-batch-size ${C:-1} --save $(pwd)/x 2>&1 | tee log

# experts on 64 GPUs of one NVLink domain: 64 (1 - C(126,8)/C(128,8)) = 7.78 ranks, no NIC; of eight nodes of B200
# 8 (1 - C(112,8)/C(128,8)) = 5.34 nodes
for where in "gb200 --nodes 16" "b200 --nodes 8"; do
    "$STEPSIM" plan --platform $where --stack megatron-bridge-25.09 --model qwen3-30b-a3b --bf16 --tp 1 --pp 1 --ep 64 \
        --mbs 1 --gbs 64 --seq 4096 | grep 'a token goes to'
done

#!/bin/bash
# Made for the tests after alibaba/Pai-Megatron-Patch@a098ca5acbdeaf7172ce0393fa309b39a77506db:examples/llama3_1/run_mcore_llama3_1.sh:
# its order and its values, none of its text.
set -e
ENV=$1
here="$( cd "$( dirname "$0" )" && pwd )"
root=$( dirname $( dirname ${here}))
export PYTHONPATH=${root}:${root}/Megatron-LM-240718:$PYTHONPATH
if [ -z ${MP_AC_LAYERS} ]; then
    MP_AC_LAYERS=1
fi
if [ $ENV = dsw ]; then
    nodes=1
    port=$(shuf -n 1 -i 10000-65535)
    gpus=`python -c "import torch; print(torch.cuda.device_count())"`
elif [ $ENV = dlc ]; then
    nodes=${WORLD_SIZE}
    gpus=${KUBERNETES_CONTAINER_RESOURCE_GPU}
fi
where="--nproc_per_node $gpus --nnodes $nodes --node_rank 0"
size=$2 batch=$3 global=$4 rate=$5 seq=$6 precision=$7 TP=$8 PP=$9
CP=${10} SP=${11} DO=${12} FL=${13} AC=${14} tokens=${15} out=${16}
if [ $size = 8B ]; then
    layers=32 hidden=4096 heads=32 wide=14336 groups=8 extra=256 tie=" --untie-embeddings-and-output-weights"
elif [ $size = 70B ]; then
    layers=80 hidden=8192 heads=64 wide=28672 groups=8 extra=256 tie=" --untie-embeddings-and-output-weights"
fi
overlap="\
    --overlap-grad-reduce \
    --overlap-param-gather"
if [ $(( ($TP > 1) ? 1 : 0 )) -eq 1 ]; then
    overlap="--tp-comm-overlap ${overlap}"
fi
if [ $AC = full ]; then
    if [ $(( ($layers / $PP) % ${MP_AC_LAYERS} )) != 0 ]; then
        exit -1
    fi
    saving=" --recompute-method uniform --recompute-num-layers ${MP_AC_LAYERS} --recompute-granularity full"
elif [ $AC = sel ]; then
    saving=" --recompute-activations"
fi
if [ $precision = bf16 ]; then
    numbers=" --bf16"
elif [ $precision = fp8 ]; then
    numbers=" --bf16 \
        --fp8-format hybrid \
        --fp8-amax-compute-algo max --fp8-amax-history-len 1024"
fi
[ $DO = true ] && sharding=" --use-distributed-optimizer"
if [ $SP = true ] && [ $TP -gt 1 ]; then
    sequence=" --sequence-parallel"
fi
if [ -z ${MP_VP} ]; then virtual=""; else virtual=" --num-layers-per-virtual-pipeline-stage ${MP_VP}"; fi
iterations=$(( ${tokens} / ${global} / ${seq} ))
name="llama3-1-${size}-tp-${TP}-pp-${PP}"
mkdir -p "${out}/tensorboard/"
stamp=$(date "+%Y.%m.%d-%H.%M.%S")
find -L none -maxdepth 1 -type f -name "*.json" -print0 | xargs -0 cp -t ${out}
flags="  \
    --save ${out}/checkpoint/${name} --lr ${rate} --lr-decay-style cosine --weight-decay 0.1 --clip-grad 1.0 \
    --init-method-std 0.008 --attention-dropout 0.0 --hidden-dropout 0.0 --train-iters ${iterations} \
    --micro-batch-size ${batch} --global-batch-size ${global} --num-layers ${layers} --hidden-size ${hidden} \
    --num-attention-heads ${heads} --ffn-hidden-size ${wide} --seq-length ${seq} --max-position-embeddings 131072 \
    --max-padding-length ${seq} --log-interval 1 --tensorboard-dir ${out}/tensorboard/${name}_${stamp} \
    --tensor-model-parallel-size ${TP} --pipeline-model-parallel-size ${PP} --context-parallel-size ${CP} \
    --no-load-optim --num-workers 8 --extra-vocab-size ${extra} --patch-tokenizer-type LLama3Tokenizer --swiglu \
    --normalization RMSNorm --norm-epsilon 1e-05 --use-rotary-position-embeddings --position-embedding-type rope \
    --disable-bias-linear --rotary-base 500000 --no-save-optim --group-query-attention --num-query-groups ${groups}"
run="torchrun $where pretrain_llama.py
 ${flags} --data-path data --split 99,1,0 --dataset MMAP ${numbers} ${saving} ${sharding} ${sequence} ${virtual} ${tie} \
 ${overlap} --train-mode pretrain"
echo ${run}
eval ${run}
set +x

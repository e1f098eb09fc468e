#!/bin/bash
# Made for the tests after NVIDIA/Megatron-LM@d98e8a64ddf34856e74b24714e3bedb2f5a39553:examples/megatron_fsdp/sbatch_mfsdp_deepseek_v3.sh:
# its order and its values, none of its text.
code=${MEGATRON_PATH:-"my_megatron"}
image=${CONTAINER_IMAGE:-"my_image"}
out=${OUTPUT_PATH:-"my_output"}
TP=${TP:-1} EP=${EP:-8} MBS=${MBS:-4} GBS=${GBS:-2048}
flags=(
    --distributed-timeout-minutes 60
    --tensor-model-parallel-size ${TP} --expert-model-parallel-size ${EP} --expert-tensor-parallel-size 1
    --context-parallel-size 1 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
    --use-mcore-models --sequence-parallel --use-flash-attn --disable-bias-linear
    --micro-batch-size ${MBS} --global-batch-size ${GBS} --train-samples 585937500
    --no-check-for-nan-in-loss-and-grad --recompute-granularity selective
    --recompute-modules mlp moe mla_up_proj layernorm --transformer-impl transformer_engine --seq-length 4096
    --tokenizer-type HuggingFaceTokenizer --tokenizer-model deepseek-ai/DeepSeek-V3 --data-path ${DATA_PATH:-"my_data"}
    --num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --kv-channels 128
    --max-position-embeddings 4096 --position-embedding-type rope --make-vocab-size-divisible-by 3232
    --normalization RMSNorm --swiglu --untie-embeddings-and-output-weights --multi-latent-attention
    --attention-dropout 0.0 --hidden-dropout 0.0 --clip-grad 1.0 --qk-layernorm
    --num-experts 256 --moe-layer-freq [0]*3+[1]*58 --moe-ffn-hidden-size 2048
    --moe-shared-expert-intermediate-size 2048 --moe-router-load-balancing-type seq_aux_loss --moe-router-topk 8
    --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep --moe-router-pre-softmax --moe-grouped-gemm
    --moe-router-group-topk 4 --moe-router-num-groups 8 --moe-router-score-function sigmoid
    --moe-router-enable-expert-bias --moe-router-dtype fp32 --moe-permute-fusion --moe-router-force-load-balancing
    --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128
    --mtp-num-layers 1 --mtp-loss-scaling-factor 0.1 --save ${out}/checkpoints --bf16 --enable-experimental
)
if [ "${USE_MEGATRON_FSDP:-1}" = 1 ]; then
    flags=("${flags[@]}" --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params
        --no-gradient-accumulation-fusion --use-distributed-optimizer --calculate-per-token-loss
        --megatron-fsdp-grad-comm-dtype bf16 --megatron-fsdp-main-grads-dtype bf16)
fi
profile=""
command="
cd ${code};
git rev-parse HEAD;
export PYTHONPATH=${code}:${PYTHONPATH};
${profile} python ${code}/pretrain_gpt.py ${flags[@]}"
mkdir -p ${out}/logs || { echo "no folder for logs"; exit 1; }
set +e
sbatch <<EOF
#!/bin/bash

#SBATCH --job-name=my_job
#SBATCH --nodes=64
#SBATCH --ntasks-per-node=8
#SBATCH --gres=gpu:8
#SBATCH --exclusive

srun \
    --mpi=pmix -l \
    --container-image=${image} \
    --container-workdir=${code} \
    bash -x -c "${command}" 2>&1 | tee ${out}/logs/\${SLURM_JOB_ID}.log

EOF
set -e

# flags of forks: zero-bubble's schedules, padded layers, MindSpeed-LLM's names, types of optimizer states, LoRA
export STEPSIM_COLUMNS=1000 # whole lines
job='--num-layers 16 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 16 --bf16 --vocab-size 1024'
run() {
    printf 'torchrun --nproc_per_node 8 pretrain_gpt.py %s %s\n' "$job" "$1" > job.cmd
    "$STEPSIM" run --verbose --engine native --platform h100 --job job.cmd 2>&1 | sed -n '3p;/^error/p;/error:/p;/pending-backward/p'
}
run '--pipeline-model-parallel-size 8 --zero-bubble-v-schedule --enable-zb-runtime'
run '--pipeline-model-parallel-size 8 --zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup half'
run '--pipeline-model-parallel-size 8 --zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup min'
run '--pipeline-model-parallel-size 8 --enable-zero-bubble --zero-bubble-max-pending-backward 8'
run '--pipeline-model-parallel-size 8 --enable-zero-bubble --zero-bubble-max-pending-backward 16'
run '--pipeline-model-parallel-size 8 --enable-1f1b-v --num-seq-splits 2'
run '--pipeline-model-parallel-size 8 --enable-1f1b-v'
run '--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2 --interleave-group-size 2'
run '--pipeline-model-parallel-size 4 --num-layer-list 5,4,4,3'
run '--pipeline-model-parallel-size 4 --num-layers 15 --allow-padding-num-layers'
run '--lora-r 16 --lora-target-modules linear_qkv linear_proj'
plan() {
    "$STEPSIM" run --engine native --platform h100 --nodes 1 $job "$@" --json | python3 -c 'import json, sys; d = json.load(sys.stdin); f = d["inputs"]["flags"]; print(f["moment_bytes"], f["master_bytes"], f["main_grad_bytes"], d["inputs"]["job"]["grad_reduce_fp32"], d["inputs"]["job"]["ep"])'
}
plan --use-distributed-optimizer --use-precision-aware-optimizer --main-grads-dtype bf16 --exp-avg-dtype fp8 --exp-avg-sq-dtype fp16
plan --use-distributed-optimizer --use-precision-aware-optimizer --main-params-dtype fp16
plan --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params --grad-reduce-in-bf16 --megatron-fsdp-main-params-dtype bf16 --megatron-fsdp-grad-comm-dtype fp32
plan --num-experts 8 --tp 2 --ep 2 --moe-tp-extend-ep --sequence-parallel --moe-ffn-hidden-size 512 --n-shared-experts 2 --first-k-dense-replace 1

/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of Megatron-LM (23.06 to core 0.20) and of Pai-Megatron-Patch that may change time or memory and set nothing here, by
 * treatment, reason and number of values. Names without their leading "--". */
#include "job/flags.h"

const struct ss_flag_group ss_flag_groups[] = {
    {SS_FLAG_NOT_MODELLED, '0', "the embedding's whole output, which stays in memory, is not counted",
     "disable-clone-scatter-output-in-embedding no-clone-scatter-output-in-embedding"},
    {SS_FLAG_NOT_MODELLED, '0', "a pass over gradients or parameters is not counted",
     "log-num-zeros-in-grad log-params-norm"},
    {SS_FLAG_NOT_MODELLED, '0', "the stack says what is fused (ss.fused.*, ss.rope.passes)",
     "cross-entropy-loss-fusion disable-jit-fuser export-default-te-spec fp16-lm-cross-entropy "
     "fused-residual-rmsnorm no-bias-dropout-fusion no-bias-gelu-fusion no-bias-swiglu-fusion "
     "no-gradient-accumulation-fusion no-masked-softmax-fusion no-persist-layer-norm "
     "no-rope-fusion use-fused-weighted-squared-relu use-grouped-gemm-for-dense-mlp "
     "use-grouped-gemm-for-shared-expert use-te-activation-func"},
    {SS_FLAG_NOT_MODELLED, '1', "the stack says what is fused (ss.fused.*, ss.rope.passes)",
     "cross-entropy-fusion-impl"},
    {SS_FLAG_NOT_MODELLED, '1', "every layer turns its queries and keys", "no-rope-freq"},
    {SS_FLAG_NOT_MODELLED, '0', "the stack says how much TP overlap hides (ss.tp.*)",
     "disable-tp-comm-bulk-dgrad disable-tp-comm-bulk-wgrad disable-tp-comm-overlap-ag "
     "disable-tp-comm-overlap-rs disable-tp-comm-split-ag disable-tp-comm-split-rs "
     "no-tp-comm-bulk-dgrad no-tp-comm-bulk-wgrad no-tp-comm-overlap-ag no-tp-comm-overlap-rs "
     "no-tp-comm-split-ag no-tp-comm-split-rs tp-comm-overlap-rs-dgrad"},
    {SS_FLAG_NOT_MODELLED, '1', "the stack says how much TP overlap hides (ss.tp.*)",
     "symmetric-ar-type tp-comm-overlap-cfg"},
    {SS_FLAG_NOT_MODELLED, '0',
     "CUDA graphs: the stack says what issuing an operator costs (ss.host.operator)", "optimizer-cuda-graph"},
    {SS_FLAG_NOT_MODELLED, '0', "the prediction is for the full global batch",
     "decrease-batch-size-if-needed"},
    /* one value, which Megatron-LM's own example gives unquoted */
    {SS_FLAG_NOT_MODELLED, '+', "the prediction is for the full global batch", "step-batch-size-schedule"},
    {SS_FLAG_NOT_MODELLED, '*', "the prediction is for the full global batch", "rampup-batch-size"},
    {SS_FLAG_NOT_MODELLED, '0', "buckets and their order are Megatron's default",
     "delay-param-gather no-align-param-gather no-use-layer-wise-param-layout "
     "overlap-param-gather-with-optimizer-step"},
    {SS_FLAG_NOT_MODELLED, '1', "buckets and their order are Megatron's default",
     "ddp-num-buckets suggested-communication-unit-size"},
    {SS_FLAG_NOT_MODELLED, '0', "pipeline transfers are as without it",
     "overlap-p2p-communication-warmup-flush use-ring-exchange-p2p"},
    {SS_FLAG_NOT_MODELLED, '1', "pipeline transfers are as without it",
     "pipeline-model-parallel-comm-backend"},
    {SS_FLAG_NOT_MODELLED, '0', "shapes in a checkpoint are not read: give them here",
     "use-checkpoint-args use-mp-args-from-checkpoint-args"},
    {SS_FLAG_NOT_MODELLED, '0', "the vocabulary is padded as --make-vocab-size-divisible-by says",
     "disable-pad-vocab-size no-pad-vocab-size"},
    {SS_FLAG_UNKNOWN_EFFECT, '0', SS_FLAG_COST_UNKNOWN,
     "batch-invariant-mode disable-bf16-reduced-precision-matmul "
     "embed-layernorm export-force-local-attention export-qk-l2-norm log-max-attention-logit "
     "moe-hybridep-pad-uneven-dispatch-inputs moe-use-grouped-tensor mtp-detach-heads mtp-hsm "
     "no-async-tensor-model-parallel-allreduce no-pin-cpu-grads no-pin-cpu-params qk-clip "
     "qk-l2-norm squared-relu transformer-timers use-alibi-mask use-legacy-models use-normhead "
     "use-torch-optimizer-for-cpu-offload"},
    {SS_FLAG_UNKNOWN_EFFECT, '1', SS_FLAG_COST_UNKNOWN,
     "batch-invariant-backend empty-unused-memory-level moe-hybridep-num-blocks-permute "
     "moe-hybridep-num-blocks-unpermute moe-hybridep-num-sms-preprocessing output-logit-dtype "
     "z-loss-weight"},
    {SS_FLAG_UNKNOWN_EFFECT, '+', SS_FLAG_COST_UNKNOWN, "hierarchical-context-parallel-sizes"},
    {SS_FLAG_UNKNOWN_EFFECT, '*', SS_FLAG_COST_UNKNOWN, "spec"},
    {SS_FLAG_UNKNOWN_EFFECT, '0', SS_FLAG_GAIN_UNKNOWN,
     "cpu-offloading-retain-pinned-cpu-buffers create-all-gather-group "
     "ddp-reduce-scatter-with-fp32-accumulation defer-embedding-wgrad-compute "
     "delay-offload-until-cuda-graph enable-full-sharding-in-hsdp "
     "ep-overlap-early-attn-memory-release fsdp-db-use-persist-buf-on-alloc-fail "
     "fsdp-double-buffer fsdp-manual-registration high-priority-a2a-comm-stream "
     "keep-fp8-transpose-cache keep-fp8-transpose-cache-when-using-custom-fsdp "
     "megatron-fsdp-enable-fine-grained-param-gather megatron-fsdp-max-pool-double-buffer "
     "mla-down-proj-fusion moe-permute-fusion-into-hybridep moe-use-legacy-grouped-gemm "
     "muon-use-syrk overlap-cpu-optimizer-d2h-h2d overlap-dispatch-backward-with-experts-wgrad "
     "reuse-grad-buf-for-mxfp8-param-ag torch-fsdp2-no-reshard-after-forward use-nccl-ub use-sharp"},
    {SS_FLAG_UNKNOWN_EFFECT, '1', SS_FLAG_GAIN_UNKNOWN,
     "flash-attention-version megatron-fsdp-grad-comm-dtype megatron-fsdp-main-grads-dtype "
     "megatron-fsdp-main-params-dtype megatron-fsdp-version nccl-communicator-config-path "
     "sharp-enabled-group wgrad-deferral-limit"},
    {SS_FLAG_UNKNOWN_EFFECT, '+', SS_FLAG_GAIN_UNKNOWN,
     "ddp-param-name-patterns-for-fp32-local-accumulation"},
    {SS_FLAG_UNKNOWN_EFFECT, '*', SS_FLAG_GAIN_UNKNOWN, "high-priority-stream-groups"},
    {SS_FLAG_REFUSED, '1', "take --swiglu", "glu-activation"},
    {SS_FLAG_REFUSED, '1', "take --group-query-attention and --num-query-groups",
     "attention-head-type n-head-kv"},
    {SS_FLAG_REFUSED, '0', "take --expert-tensor-parallel-size", "expert-tensor-parallelism moe-extended-tp"},
    {SS_FLAG_REFUSED, '0', "give --moe-shared-expert-intermediate-size, the width of all shared experts",
     "enable-shared-expert"},
    {SS_FLAG_REFUSED, '1', "give --moe-shared-expert-intermediate-size, the width of all shared experts",
     "num-shared-experts shared-moe-ffn-hidden-size"},
    {SS_FLAG_REFUSED, '1', "take --moe-layer-freq", "expert-interval"},
    {SS_FLAG_REFUSED, '1', "take --expert-model-parallel-size", "moe-expert-parallel-size"},
    {SS_FLAG_REFUSED, '1', "take --moe-expert-capacity-factor", "moe-train-capacity-factor"},
    {SS_FLAG_REFUSED, '0', "such a layer of experts is not modelled", "moe-input-feature-slicing use-tutel"},
    {SS_FLAG_REFUSED, '1', "such a layer of experts is not modelled", "moe-latent-size"},
    {SS_FLAG_REFUSED, '0', "the ncclep backend is not modelled", "moe-ncclep-zero-copy"},
    {SS_FLAG_REFUSED, '0', "a budget of tokens a rank is not modelled", "moe-paged-stash"},
    {SS_FLAG_REFUSED, '1', "a budget of tokens a rank is not modelled",
     "moe-expert-rank-capacity-factor moe-paged-stash-buffer-size-factor-cpu "
     "moe-paged-stash-buffer-size-factor-cuda moe-paged-stash-page-size"},
    {SS_FLAG_REFUSED, '0', "such layers of multi-token prediction are not modelled",
     "mtp-standalone mtp-use-repeated-layer"},
    {SS_FLAG_REFUSED, '1', "such layers of multi-token prediction are not modelled",
     "mtp-hybrid-override-pattern"},
    {SS_FLAG_REFUSED, '1', "Megatron took it out: --micro-batch-size instead", "batch-size"},
    {SS_FLAG_REFUSED, '1', "Megatron took it out: --lr-warmup-fraction instead", "warmup"},
    {SS_FLAG_REFUSED, '1', "Megatron took it out: --tensor-model-parallel-size instead",
     "model-parallel-size"},
    {SS_FLAG_REFUSED, '0', "retrieval models are not modelled",
     "biencoder-shared-query-context-model retriever-score-scaling retro-add-retriever "
     "retro-no-verify-neighbor-count retro-return-doc-ids use-one-sent-docs"},
    {SS_FLAG_REFUSED, '1', "retrieval models are not modelled",
     "biencoder-projection-dim block-data-path embedding-path evidence-data-path ict-head-size "
     "ict-load indexer-batch-size indexer-log-interval query-in-block-prob retro-attention-gate "
     "retro-cyclic-train-iters retro-encoder-attention-dropout retro-encoder-hidden-dropout "
     "retro-encoder-layers retro-num-neighbors retro-num-retrieved-chunks retro-project-dir "
     "retro-workdir titles-data-path"},
    {SS_FLAG_REFUSED, '+', "retrieval models are not modelled", "retriever-report-topk-accuracies"},
    {SS_FLAG_REFUSED, '0', "vision models are not modelled",
     "allow-missing-vision-projection-checkpoint cvcuda-image-processing dino-norm-last-layer "
     "disable-vision-class-token freeze-clip-vision-tower freeze-llm freeze-LM freeze-ViT "
     "mm-use-im-patch-token mm-use-im-start-end tune-mm-mlp-adapter use-te use-thumbnail "
     "use-tiling vision-pretraining"},
    {SS_FLAG_REFUSED, '1', "vision models are not modelled",
     "classes-fraction data-per-class-fraction dataloader-seq-length dino-bottleneck-size "
     "dino-freeze-last-layer dino-head-hidden-size dino-local-crops-number dino-local-img-size "
     "dino-teacher-temp dino-warmup-teacher-temp dino-warmup-teacher-temp-epochs "
     "image-aspect-ratio image-folder image-size image-tag-type img-h img-w iter-per-epoch "
     "language-model-type mask-factor mask-type max-num-tiles mm-projector-type "
     "mm-vision-select-layer num-channels num-classes num-frames patch-dim patch-size "
     "spatial-merge-size swin-backbone-type temporal-patch-size version vision-backbone-type "
     "vision-model-type vision-pretraining-type vision-tower"},
    {SS_FLAG_REFUSED, '0', "reinforcement learning steps are not modelled",
     "grpo-filter-groups-with-same-reward langrl-external-server no-langrl-external-server "
     "no-rl-calculate-intra-group-similarity no-rl-inference-logprobs-is-correction "
     "no-rl-offload-inference-model-weights-when-idle no-rl-offload-kv-cache-during-training "
     "no-rl-partial-rollouts no-rl-persist-cuda-graphs no-rl-remove-kv-cache-during-training "
     "no-rl-reset-cuda-graphs no-rl-skip-bos-token no-rl-training-cuda-graphs "
     "no-rl-use-sequence-packing no-rl-verify-model-weights-swap perform-rl-step "
     "rl-calculate-intra-group-similarity rl-durable-rollout-bank "
     "rl-inference-logprobs-is-correction rl-offload-inference-model-weights-when-idle "
     "rl-offload-kv-cache-during-training rl-offload-optimizer-during-inference "
     "rl-partial-rollouts rl-persist-cuda-graphs rl-profile rl-remove-kv-cache-during-training "
     "rl-reset-cuda-graphs rl-skip-bos-token rl-training-cuda-graphs rl-use-sequence-packing "
     "rl-verify-model-weights-swap"},
    {SS_FLAG_REFUSED, '1', "reinforcement learning steps are not modelled",
     "grpo-clamp-eps-lower grpo-clamp-eps-upper grpo-default-temperature grpo-default-top-p "
     "grpo-entropy-term-weight grpo-group-size grpo-iterations grpo-kl-beta grpo-prompts-per-step "
     "langrl-env-config langrl-inference-server-conversation-template langrl-inference-server-type "
     "refit-method rl-consumption-granularity rl-default-temperature rl-default-top-k "
     "rl-default-top-p rl-generation-lag rl-importance-sampling-truncation-coef "
     "rl-inference-expert-model-parallel-size rl-inference-expert-tensor-model-parallel-size "
     "rl-inference-model-unified-memory-level rl-inference-pipeline-model-parallel-size "
     "rl-inference-tensor-model-parallel-size rl-kv-cache-management-mode rl-max-inflight-requests "
     "rl-profile-dir rl-prompts-per-eval rl-rollout-bank-dir rl-rollout-bank-max-bytes "
     "rl-sequence-packing-algo rl-sequence-packing-bin-size "
     "rl-sequence-packing-max-sequences-per-bin rl-submission-granularity"},
    {SS_FLAG_REFUSED, '*', "reinforcement learning steps are not modelled", "rl-inference-parsers"},
    {SS_FLAG_REFUSED, '0', "layers that differ in kind are not modelled",
     "disable-mamba-mem-eff-path gdp-cutedsl-kernel is-hybrid-model"},
    {SS_FLAG_REFUSED, '1', "layers that differ in kind are not modelled",
     "experimental-attention-variant export-model-type gdp-num-chunk-states-to-recompute "
     "gdp-num-householder heterogeneous-layers-config-encoded-json "
     "heterogeneous-layers-config-path hybrid-attention-ratio hybrid-layer-pattern "
     "hybrid-mlp-ratio hybrid-override-pattern inference-dynamic-batching-mamba-memory-ratio "
     "inference-dynamic-batching-prefix-caching-mamba-gb linear-attention-freq "
     "linear-conv-kernel-dim linear-key-head-dim linear-num-key-heads linear-num-value-heads "
     "linear-value-head-dim mamba-head-dim mamba-inference-conv-states-dtype "
     "mamba-inference-ssm-states-dtype mamba-num-groups mamba-num-heads mamba-state-dim "
     "mamba-training-ssm-states-dtype"},
    {SS_FLAG_REFUSED, '0', "sparse attention is not modelled",
     "disable-dsa-indexer-rotate-activation disable-dsa-indexer-scoring-relu "
     "dsa-indexer-k-norm-fp32 dsa-indexer-rope-interleaved dsa-indexer-use-sparse-loss "
     "no-dsa-indexer-rotate-activation no-dsa-indexer-scoring-relu"},
    {SS_FLAG_REFUSED, '1', "sparse attention is not modelled",
     "dsa-indexer-head-dim dsa-indexer-k-norm-epsilon dsa-indexer-loss-coeff dsa-indexer-n-heads "
     "dsa-indexer-skip-topk-offset dsa-indexer-topk dsa-indexer-topk-freq dsa-kernel-backend"},
    {SS_FLAG_REFUSED, '1', "take --window-size", "sliding-window"},
    {SS_FLAG_REFUSED, '0', "gates on attention are not modelled",
     "attention-output-gate use-gated-attention"},
    {SS_FLAG_REFUSED, '0', "hyper-connections are not modelled", "enable-mhc-connections"},
    {SS_FLAG_REFUSED, '1', "hyper-connections are not modelled",
     "mhc-init-gating-factor mhc-num-residual-streams mhc-recompute-layer-num "
     "mhc-sinkhorn-iterations"},
    {SS_FLAG_REFUSED, '1', "encoder-decoder models are not modelled",
     "decoder-num-layers decoder-seq-length encoder-pipeline-model-parallel-size "
     "encoder-tensor-model-parallel-size pipeline-model-parallel-split-rank"},
    {SS_FLAG_REFUSED, '0', "take --pipeline-model-parallel-layout", "standalone-embedding-stage"},
    {SS_FLAG_REFUSED, '0', "quantizers of one's own are not modelled", "modelopt-enabled"},
    {SS_FLAG_REFUSED, '1', "quantizers of one's own are not modelled",
     "export-quant-cfg export-real-quant-cfg fp4-quantizer-factory"},
    {SS_FLAG_REFUSED, '0', "layers of different precision are not modelled",
     "disable-fp8-wgrad first-last-layers-bf16 fp8-output-proj no-fp8-wgrad use-kitchen-attention"},
    {SS_FLAG_REFUSED, '1', "layers of different precision are not modelled",
     "fp8-quantizer-factory kitchen-attention-backend kitchen-config-file kitchen-recipe-number "
     "num-layers-at-end-in-bf16 num-layers-at-start-in-bf16 te-precision-config-file"},
    {SS_FLAG_REFUSED, '0', "a residual stream in fp32 is not modelled",
     "embedding-weights-in-fp32 fp32-residual-connection"},
    {SS_FLAG_REFUSED, '0', "activations distributed over the tensor group are not modelled",
     "distribute-checkpointed-activations distribute-saved-activations"},
    {SS_FLAG_REFUSED, '0', "weight shards by tensor rank are not modelled",
     "gtp-expert-remat-nccl-ub gtp-remat-nccl-ub gtp-remat-reduce-scatter-with-fp32-accumulation"},
    {SS_FLAG_REFUSED, '1', "weight shards by tensor rank are not modelled",
     "expert-tensor-parallel-num-weight-shards tensor-parallel-num-weight-shards"},
    {SS_FLAG_REFUSED, '+', "weight shards by tensor rank are not modelled", "gtp-remat-opt-in-modules"},
    {SS_FLAG_REFUSED, '0', "context parallelism by the length of documents is not modelled",
     "hybrid-context-parallel"},
    {SS_FLAG_REFUSED, '1', "context parallelism by the length of documents is not modelled",
     "max-seqlen-per-dp-cp-rank"},
    {SS_FLAG_REFUSED, '1', "such offloading is not modelled", "delta-offload-bytes-across-pp-ranks"},
    {SS_FLAG_REFUSED, '0', "distillation is not modelled", "logits-load-ignore-errors"},
    {SS_FLAG_REFUSED, '1', "distillation is not modelled",
     "export-kd-cfg export-kd-teacher-ckpt-format export-kd-teacher-load "
     "export-kd-teacher-model-config logits-load-decode-threads logits-load-dir "
     "logits-load-kd-loss-alpha logits-load-msc-prefetch-depth logits-load-prefetch-factor "
     "logits-save-dir logits-save-dtype logits-save-top-k logits-save-top-p "
     "logits-save-top-p-min-k qad-train-target"},
    {SS_FLAG_REFUSED, '0', "training of a part of the layers is not modelled",
     "export-offline-model freeze-all-layers freeze-base-for-mtp"},
    {SS_FLAG_REFUSED, '1', "MLPs cut in chunks are not modelled", "mlp-chunks-for-training"},
    {SS_FLAG_REFUSED, '1', "a YAML configuration is not read: give the flags", "yaml-cfg"},
    {SS_FLAG_REFUSED, '0', "take --disable-bias-linear and --add-qkv-bias",
     "disable-bias-attn-fc disable-bias-linear-fc"},
    {SS_FLAG_REFUSED, '0', "positions in two dimensions are not modelled", "position-encoding-2d"},
    {0, 0, NULL, NULL},
};

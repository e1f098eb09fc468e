/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of Megatron-LM (23.06 to core 0.20) and of Pai-Megatron-Patch that set nothing here, by treatment,
 * number of values and reason. Names without their leading "--". */
#include "job/flags.h"

const struct ss_flag_group ss_flag_groups[] = {
    {SS_FLAG_NO_EFFECT, '1', NULL,
     "DDP-impl adam-beta1 adam-beta2 adam-eps "
     "adlr-autoresume-interval app-tag-run-name app-tag-run-version async-ckpt-cpu-priority "
     "async-ckpt-io-priority async-strategy bert-embedder-type bert-load chat-template "
     "check-weight-hash-across-dp-replicas-interval ckpt-convert-format ckpt-convert-save "
     "ckpt-format ckpt-fully-parallel-load-exchange-algo "
     "ckpt-fully-parallel-load-process-group ckpt-fully-parallel-save-process-group "
     "ckpt-pg-tensors-cache-path ckpt-step config-logger-dir cuda-graph-warmup-steps "
     "data-args-path data-cache-path data-dir data-impl dataloader-save dataloader-type "
     "dataset decoupled-lr decoupled-min-lr dist-ckpt-format dist-ckpt-strictness "
     "dist-ckpt-workers distributed-backend distributed-timeout-minutes "
     "distributed-timeout-seconds-after-init dump-param-to-param-group-map "
     "embedding-init-method-std end-weight-decay epochs error-injection-rate "
     "error-injection-type eval-global-batch-size eval-interval eval-iters "
     "eval-micro-batch-size exit-duration-in-mins exit-interval exit-signal "
     "fault-injector-delay-start-iteration fault-injector-fault-delay "
     "fault-injector-fault-probabilities fault-injector-fault-types "
     "fault-injector-mtti-seconds fault-injector-num-ranks fault-injector-offset-seconds "
     "fault-injector-ranks fault-injector-seed fim-eod-token fim-fragment-rate "
     "fim-middle-token fim-no-prefix fim-pad-token fim-prefix-token fim-rate fim-split-sample "
     "fim-spm-rate fim-suffix-token flight-recorder-dump-path "
     "flight-recorder-trace-buffer-size fp8-amax-compute-algo fp8-amax-history-len "
     "fp8-interval fp8-margin ft-num-warmup-iters generation-length glu-activation "
     "glu-linear-offset gpu-sniff-test-interval head-lr-mult hysteresis "
     "inference-batch-times-seqlen-threshold inference-coordinator-port "
     "inference-cuda-graph-max-tokens inference-cuda-graph-scope "
     "inference-dynamic-batching-async-sched-mode inference-dynamic-batching-block-size "
     "inference-dynamic-batching-buffer-guaranteed-fraction "
     "inference-dynamic-batching-buffer-overflow-factor "
     "inference-dynamic-batching-buffer-size-gb inference-dynamic-batching-chunk-size "
     "inference-dynamic-batching-cuda-graph-mixed-prefill-count "
     "inference-dynamic-batching-cuda-graph-sizing-distribution "
     "inference-dynamic-batching-logprobs-mode inference-dynamic-batching-max-requests "
     "inference-dynamic-batching-max-requests-override inference-dynamic-batching-max-tokens "
     "inference-dynamic-batching-max-tokens-override "
     "inference-dynamic-batching-num-cuda-graphs "
     "inference-dynamic-batching-paused-buffer-size-gb "
     "inference-dynamic-batching-prefix-caching-coordinator-policy "
     "inference-dynamic-batching-prefix-caching-eviction-policy "
     "inference-dynamic-batching-prefix-caching-routing-alpha "
     "inference-dynamic-batching-sampling-backend "
     "inference-dynamic-batching-unified-memory-level inference-logging-step-interval "
     "inference-max-batch-size inference-max-requests inference-max-seq-length "
     "inference-shards init-method-std initial-loss-scale inprocess-active-world-size "
     "inprocess-barrier-timeout inprocess-completion-timeout inprocess-granularity "
     "inprocess-hard-timeout inprocess-heartbeat-interval inprocess-heartbeat-timeout "
     "inprocess-last-call-wait inprocess-max-iterations inprocess-monitor-process-interval "
     "inprocess-monitor-thread-interval inprocess-progress-watchdog-interval "
     "inprocess-soft-timeout inprocess-termination-grace-time input-len intermediate-size "
     "layernorm-epsilon lazy-mpu-init lion-beta1 lion-beta2 load local-rank local_rank "
     "log-interval log-memory-interval logging-level loss-scale loss-scale-window lr "
     "lr-decay-iters lr-decay-samples lr-decay-steps lr-decay-style lr-warmup-fraction "
     "lr-warmup-init lr-warmup-iters lr-warmup-samples lr-warmup-steps lr-wsd-decay-iters "
     "lr-wsd-decay-samples lr-wsd-decay-style manual-gc-interval mask-prob max-padding-length "
     "max-tokens-to-oom memory-snapshot-path merge-file mid-level-dataset-surplus "
     "min-loss-scale min-lr mlp-chunks-for-prefill "
     "muon-extra-scale-factor muon-momentum "
     "muon-scale-mode mup-attn-scale-power "
     "mup-base-head-dim mup-base-hidden-size mup-embedding-mult mup-output-mult mup-width-mult "
     "n-head-kv no-weight-decay-cond-type non-persistent-ckpt-type "
     "non-persistent-global-ckpt-dir non-persistent-local-ckpt-algo "
     "non-persistent-local-ckpt-dir non-persistent-save-interval norm-epsilon "
     "null-tokenizer-eod-id null-tokenizer-pad-id num-dataset-builder-threads "
     "num-speculative-tokens num-workers object-storage-cache-path one-logger-project "
     "one-logger-run-name onnx-safe optimizer-offload-auto-threshold "
     "optimizer-offload-chunk-size otel-service-name otel-span-groups out-seq-length "
     "override-ckpt-iteration per-dataset-sequences-path per-split-data-args-path "
     "persistent-save-interval phase-transition-iterations pretrained-checkpoint "
     "profile-step-end profile-step-start qk-clip-alpha qk-clip-threshold "
     "relative-attention-max-distance relative-attention-num-buckets repetition-penalty "
     "replication-factor replication-jump rerun-mode result-rejected-tracker-filename "
     "retriever-seq-length rope-scaling-factor rope-type rotary-base rotary-percent "
     "rotary-scale-factor rotary-seq-len-interpolation-factor s3-cache-path sample-rate save "
     "save-activations-interval save-dgrads-interval save-interval save-params-interval "
     "save-retain-interval save-wgrads-interval seed sft-tokenizer-prompt-format sgd-momentum "
     "short-seq-prob source-seq-len split start-eval-at-iter start-weight-decay "
     "straggler-ctrlr-port straggler-minmax-count target-seq-len task-list temperature "
     "tensorboard-dir tensorboard-log-interval tensorboard-queue-size "
     "tiktoken-num-special-tokens tiktoken-pattern timing-log-level timing-log-option "
     "tokenizer-metadata tokenizer-model top-k top-p tp-comm-bootstrap-backend train-iters "
     "train-mode train-samples train-sync-interval transformer-type verbosity vocab-extra-ids "
     "vocab-file wandb-entity wandb-exp-name wandb-project wandb-save-dir wd-incr-steps "
     "weight-decay weight-decay-incr-style wsd-decay-steps yarn-beta-fast yarn-beta-slow "
     "yarn-original-max-position-embeddings"},
    {SS_FLAG_NO_EFFECT, '0', NULL,
     "adaptive-seq-len adlr-autoresume allow-ambiguous-pad-tokens apply-layernorm-1p "
     "apply-query-key-layer-scaling apply-residual-connection-post-layernorm "
     "apply-wd-to-qk-layernorm async-ckpt-use-cpu-shm async-save attention-softmax-in-fp32 "
     "auto-detect-ckpt-format bert-no-binary-head calc-ft-timeouts calculate-per-token-loss "
     "check-for-large-grads check-for-spiky-loss ckpt-assume-constant-structure "
     "ckpt-convert-update-legacy-dist-opt-format ckpt-drop-redundant-extra-state "
     "ckpt-fully-parallel-load ckpt-fully-parallel-load-per-rank-objects "
     "ckpt-fully-parallel-save ckpt-pg-tensors-cache-create data-parallel-random-init "
     "dataloader-defer-npy-index-mmap dataloader-fast-cache-load ddp-average-in-collective "
     "ddp-pad-buckets-for-high-nccl-busbw decode-only-cuda-graphs disable-chunked-prefill "
     "disable-ckpt-load-validate-sharding-integrity disable-clone-scatter-output-in-embedding "
     "disable-flight-recorder-dump-on-timeout disable-flight-recorder-extra-dump-on-exec "
     "disable-flight-recorder-include-only-active disable-gloo-process-groups "
     "disable-log-loss-scale-to-tensorboard disable-manual-gc-eval disable-msc "
     "disable-parallel-output disable-save-tokenizer-assets disable-straggler-on-startup "
     "disable-strict-fsdp-dtensor-load disable-symmetric-registration "
     "disable-tokenizer-sentencepiece-ignore-extra-whitespaces "
     "disable-use-tokenizer-model-from-checkpoint-args dist-ckpt-optim-fully-reshardable "
     "dist-ckpt-save-pre-mcore-014 distrib-optim-fully-reshardable-mem-efficient "
     "enable-chunked-prefill enable-experimental enable-ft-package enable-msc "
     "enable-parallel-output eod-mask-loss eval-dev eval-fp32 exit-on-missing-checkpoint "
     "exit-signal-handler exit-signal-handler-for-dataloader exit-signal-handler-for-training "
     "fake-process-group fim-data finetune flash-decode flight-recorder-include-stack-trace "
     "full-validation inference-cuda-graph-all-prefills inference-disable-ep-consensus "
     "inference-disable-triton-nvls-kernels inference-dynamic-batching "
     "inference-dynamic-batching-prefix-caching "
     "inference-dynamic-batching-track-generated-token-events "
     "inference-dynamic-batching-track-paused-request-events inference-fuse-tp-communication "
     "inference-rng-tracker inference-text-gen-server-logging "
     "inference-use-synchronous-zmq-collectives inference-wandb-logging "
     "init-method-xavier-uniform init-model-with-meta-device inprocess-empty-cuda-cache "
     "inprocess-restart keep-last legacy-tokenizer load-main-params-from-ckpt "
     "load-model-opt-format log-batch-size-to-tensorboard log-device-memory-used log-energy "
     "log-memory-to-tensorboard log-num-zeros-in-grad log-params-norm log-progress "
     "log-straggler log-throughput log-timers-to-tensorboard log-validation-ppl-to-tensorboard "
     "log-world-size-to-tensorboard manual-gc mmap-warmup mock-data moe-per-layer-logging "
     "multiple-validation-sets muon-nesterov "
     "nccl-all-reduce-for-prefill no-barrier-with-level-1-timing no-ckpt-fully-parallel-save "
     "no-ckpt-load-validate-sharding-integrity no-clone-scatter-output-in-embedding "
     "no-contiguous-buffers-in-local-ddp no-create-attention-mask-in-dataloader "
     "no-data-sharding no-flight-recorder-dump-on-timeout "
     "no-flight-recorder-extra-dump-on-exec no-flight-recorder-include-only-active "
     "no-gradient-reduce-div-fusion no-inference-disable-ep-consensus "
     "no-inference-dynamic-batching-prefix-caching no-inference-text-gen-server-logging "
     "no-inference-use-synchronous-zmq-collectives no-inference-wandb-logging "
     "no-initialization no-load-optim no-load-rng no-log-learnig-rate-to-tensorboard "
     "no-log-loss-scale-to-tensorboard no-manual-gc-eval no-mmap-bin-files no-one-logger "
     "no-query-key-layer-scaling no-save-optim no-save-rng no-save-tokenizer-assets "
     "no-strict-fsdp-dtensor-load no-tokenizer-sentencepiece-ignore-extra-whitespaces "
     "no-use-tokenizer-model-from-checkpoint-args no-yarn-correction-range-round-to-int "
     "nvtx-ranges one-logger-async openai-gelu otel-enabled output-bert-embeddings "
     "overlap-p2p-communication override-opt-param-scheduler override-opt_param-scheduler "
     "profile pytorch-profiler-collect-callstack pytorch-profiler-collect-chakra "
     "pytorch-profiler-collect-shapes record-memory-history record-shapes "
     "renormalize-blend-weights replication "
     "rotary-interleaved run-workload-inspector-server skip-train te-rng-tracker test-mode "
     "tokenizer-hf-no-include-special-tokens tokenizer-hf-no-use-fast "
     "tokenizer-sentencepiece-legacy trust-remote-code use-alibi-mask "
     "use-checkpoint-opt-param-scheduler use-checkpoint-opt_param-scheduler "
     "use-cpu-initialization use-dist-ckpt use-gigatoken use-legacy-static-engine "
     "use-mcore-models use-mistral-rotary-position-embeddings use-mup use-normhead "
     "use-persistent-ckpt-worker use-pytorch-profiler "
     "use-rope-scaling use-same-sampling-seed-across-dp-ranks verify-integrity "
     "yarn-correction-range-round-to-int"},
    {SS_FLAG_NO_EFFECT, '*', NULL, "data-path test-data-path train-data-path valid-data-path"},
    {SS_FLAG_NO_EFFECT, '+', NULL,
     "iterations-to-skip mrope-section profile-ranks tiktoken-special-tokens "
     "tokenizer-special-tokens train-data valid-data validation-set-names"},
    {SS_FLAG_NO_EFFECT, '+', NULL, "moe-aux-loss-coeff"},
    {SS_FLAG_NO_EFFECT, '0', NULL,
     "inference-moe-disable-fused-quant-kernels moe moe-apply-probs-on-input "
     "moe-enable-routing-replay moe-hybridep-pad-uneven-dispatch-inputs "
     "moe-pad-experts-for-cuda-graph-inference moe-router-pre-softmax "
     "moe-routing-trace-capture-hidden-states moe-routing-trace-capture-logits "
     "moe-routing-trace-dump-weights moe-single-grouped-bias moe-single-grouped-weight "
     "moe-use-grouped-tensor moe-use-upcycling use-grouped-gemm-for-shared-expert"},
    {SS_FLAG_NO_EFFECT, '1', NULL,
     "inference-grouped-gemm-backend inference-moe-token-dispatcher-type "
     "moe-eval-capacity-factor moe-loss-coeff moe-min-capacity moe-mlp-glu-interleave-size "
     "moe-router-bias-update-rate moe-router-quantile-balancing-ema "
     "moe-router-topk-scaling-factor moe-routing-trace-max-training-iters "
     "moe-routing-trace-path moe-shared-expert-glu-interleave-size moe-token-drop-policy "
     "moe-upcycling-granularity moe-z-loss-coeff mscale mscale-all-dim "
     "mtp-loss-scaling-factor rotary-scaling-factor router-type "
     "save-tokens-per-expert-interval"},
    {SS_FLAG_UNKNOWN_EFFECT, '0', SS_FLAG_GAIN_UNKNOWN,
     "ep-overlap-early-attn-memory-release high-priority-a2a-comm-stream mla-down-proj-fusion "
     "moe-permute-fusion-into-hybridep moe-use-legacy-grouped-gemm "
     "overlap-dispatch-backward-with-experts-wgrad"},
    {SS_FLAG_UNKNOWN_EFFECT, '0', SS_FLAG_GAIN_UNKNOWN, "muon-use-syrk"},
    {SS_FLAG_UNKNOWN_EFFECT, '0', SS_FLAG_COST_UNKNOWN, "mtp-detach-heads mtp-hsm"},
    {SS_FLAG_UNKNOWN_EFFECT, '1', SS_FLAG_COST_UNKNOWN,
     "moe-hybridep-num-blocks-permute moe-hybridep-num-blocks-unpermute "
     "moe-hybridep-num-sms-preprocessing"},
    {SS_FLAG_NOT_MODELLED, '1', "every layer turns its queries and keys", "no-rope-freq"},
    {SS_FLAG_REFUSED, '0', "take --expert-tensor-parallel-size", "expert-tensor-parallelism moe-extended-tp"},
    {SS_FLAG_REFUSED, '0', "give --moe-shared-expert-intermediate-size, the width of all shared experts",
     "enable-shared-expert"},
    {SS_FLAG_REFUSED, '1', "give --moe-shared-expert-intermediate-size, the width of all shared experts",
     "num-shared-experts"},
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
    {SS_FLAG_NOT_MODELLED, '0', "the stack says what is fused (ss.fused.*, ss.rope.passes)",
     "cross-entropy-loss-fusion disable-jit-fuser fp16-lm-cross-entropy fused-residual-rmsnorm "
     "no-bias-dropout-fusion no-bias-gelu-fusion no-bias-swiglu-fusion "
     "no-gradient-accumulation-fusion no-masked-softmax-fusion no-persist-layer-norm "
     "no-rope-fusion use-fused-weighted-squared-relu use-grouped-gemm-for-dense-mlp "
     "use-te-activation-func"},
    {SS_FLAG_NOT_MODELLED, '1', "the stack says what is fused (ss.fused.*, ss.rope.passes)",
     "cross-entropy-fusion-impl"},
    {SS_FLAG_NOT_MODELLED, '1', "the stack says how much TP overlap hides (ss.tp.*)",
     "symmetric-ar-type tp-comm-overlap-cfg"},
    {SS_FLAG_NOT_MODELLED, '0', "the stack says how much TP overlap hides (ss.tp.*)",
     "disable-tp-comm-bulk-dgrad disable-tp-comm-bulk-wgrad disable-tp-comm-overlap-ag "
     "disable-tp-comm-overlap-rs disable-tp-comm-split-ag disable-tp-comm-split-rs "
     "no-tp-comm-bulk-dgrad no-tp-comm-bulk-wgrad no-tp-comm-overlap-ag no-tp-comm-overlap-rs "
     "no-tp-comm-split-ag no-tp-comm-split-rs tp-comm-overlap-rs-dgrad"},
    {SS_FLAG_NOT_MODELLED, '0',
     "CUDA graphs: the stack says what issuing an operator costs (ss.host.operator)", "optimizer-cuda-graph"},
    {SS_FLAG_NOT_MODELLED, '*', "the prediction is for the full global batch", "rampup-batch-size"},
    {SS_FLAG_NOT_MODELLED, '0', "the prediction is for the full global batch",
     "decrease-batch-size-if-needed"},
    {SS_FLAG_NOT_MODELLED, '0', "buckets and their order are Megatron's default",
     "delay-param-gather disable-align-grad-reduce no-align-grad-reduce no-align-param-gather "
     "no-delay-grad-reduce no-use-layer-wise-param-layout "
     "overlap-param-gather-with-optimizer-step"},
    {SS_FLAG_NOT_MODELLED, '1', "buckets and their order are Megatron's default",
     "ddp-num-buckets suggested-communication-unit-size"},
    {SS_FLAG_NOT_MODELLED, '0', "pipeline transfers are as without it",
     "overlap-p2p-communication-warmup-flush use-ring-exchange-p2p"},
    {SS_FLAG_NOT_MODELLED, '1', "pipeline transfers are as without it",
     "pipeline-model-parallel-comm-backend"},
    {SS_FLAG_UNKNOWN_EFFECT, '0', SS_FLAG_GAIN_UNKNOWN,
     "cpu-offloading-retain-pinned-cpu-buffers create-all-gather-group "
     "ddp-reduce-scatter-with-fp32-accumulation defer-embedding-wgrad-compute "
     "enable-full-sharding-in-hsdp fsdp-db-use-persist-buf-on-alloc-fail fsdp-double-buffer "
     "fsdp-manual-registration delay-offload-until-cuda-graph keep-fp8-transpose-cache "
     "keep-fp8-transpose-cache-when-using-custom-fsdp "
     "megatron-fsdp-enable-fine-grained-param-gather megatron-fsdp-max-pool-double-buffer "
     "overlap-cpu-optimizer-d2h-h2d reuse-grad-buf-for-mxfp8-param-ag "
     "torch-fsdp2-no-reshard-after-forward use-nccl-ub use-sharp"},
    {SS_FLAG_UNKNOWN_EFFECT, '1', SS_FLAG_GAIN_UNKNOWN,
     "flash-attention-version megatron-fsdp-grad-comm-dtype megatron-fsdp-main-grads-dtype "
     "megatron-fsdp-main-params-dtype megatron-fsdp-version nccl-communicator-config-path "
     "sharp-enabled-group wgrad-deferral-limit"},
    {SS_FLAG_UNKNOWN_EFFECT, '+', SS_FLAG_GAIN_UNKNOWN,
     "ddp-param-name-patterns-for-fp32-local-accumulation"},
    {SS_FLAG_UNKNOWN_EFFECT, '*', SS_FLAG_GAIN_UNKNOWN, "high-priority-stream-groups"},
    {SS_FLAG_UNKNOWN_EFFECT, '0', SS_FLAG_COST_UNKNOWN,
     "attention-output-gate batch-invariant-mode "
     "disable-bf16-reduced-precision-matmul embed-layernorm log-max-attention-logit "
     "no-async-tensor-model-parallel-allreduce no-pin-cpu-grads no-pin-cpu-params qk-clip "
     "qk-l2-norm squared-relu transformer-timers use-legacy-models "
     "use-torch-optimizer-for-cpu-offload"},
    {SS_FLAG_UNKNOWN_EFFECT, '1', SS_FLAG_COST_UNKNOWN,
     "batch-invariant-backend empty-unused-memory-level output-logit-dtype"},
    {SS_FLAG_UNKNOWN_EFFECT, '*', SS_FLAG_COST_UNKNOWN, "spec"},
    {SS_FLAG_UNKNOWN_EFFECT, '+', SS_FLAG_COST_UNKNOWN, "hierarchical-context-parallel-sizes"},
    {SS_FLAG_NOT_MODELLED, '0', "shapes in a checkpoint are not read: give them here",
     "use-checkpoint-args use-mp-args-from-checkpoint-args"},
    {SS_FLAG_NOT_MODELLED, '0', "the vocabulary is padded as --make-vocab-size-divisible-by says",
     "disable-pad-vocab-size no-pad-vocab-size"},
    {SS_FLAG_REFUSED, '1', "Megatron took it out: --micro-batch-size instead", "batch-size"},
    {SS_FLAG_REFUSED, '1', "Megatron took it out: --lr-warmup-fraction instead", "warmup"},
    {SS_FLAG_REFUSED, '1', "Megatron took it out: --tensor-model-parallel-size instead",
     "model-parallel-size"},
    {SS_FLAG_REFUSED, '1', "retrieval models are not modelled",
     "biencoder-projection-dim block-data-path embedding-path evidence-data-path ict-head-size "
     "ict-load indexer-batch-size indexer-log-interval query-in-block-prob "
     "retro-attention-gate retro-cyclic-train-iters retro-encoder-attention-dropout "
     "retro-encoder-hidden-dropout retro-encoder-layers retro-num-neighbors "
     "retro-num-retrieved-chunks retro-project-dir retro-workdir titles-data-path"},
    {SS_FLAG_REFUSED, '0', "retrieval models are not modelled",
     "biencoder-shared-query-context-model retriever-score-scaling retro-add-retriever "
     "retro-no-verify-neighbor-count retro-return-doc-ids use-one-sent-docs"},
    {SS_FLAG_REFUSED, '+', "retrieval models are not modelled", "retriever-report-topk-accuracies"},
    {SS_FLAG_REFUSED, '1', "vision models are not modelled",
     "classes-fraction data-per-class-fraction dino-bottleneck-size dino-freeze-last-layer "
     "dino-head-hidden-size dino-local-crops-number dino-local-img-size dino-teacher-temp "
     "dino-warmup-teacher-temp dino-warmup-teacher-temp-epochs img-h img-w iter-per-epoch "
     "mask-factor mask-type num-channels num-classes patch-dim swin-backbone-type "
     "vision-backbone-type vision-pretraining-type"},
    {SS_FLAG_REFUSED, '0', "vision models are not modelled", "dino-norm-last-layer vision-pretraining"},
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
     "grpo-entropy-term-weight grpo-group-size grpo-iterations grpo-kl-beta "
     "grpo-prompts-per-step langrl-env-config langrl-inference-server-conversation-template "
     "langrl-inference-server-type refit-method rl-consumption-granularity "
     "rl-default-temperature rl-default-top-k rl-default-top-p rl-generation-lag "
     "rl-importance-sampling-truncation-coef rl-inference-expert-model-parallel-size "
     "rl-inference-expert-tensor-model-parallel-size rl-inference-model-unified-memory-level "
     "rl-inference-pipeline-model-parallel-size rl-inference-tensor-model-parallel-size "
     "rl-kv-cache-management-mode rl-max-inflight-requests rl-profile-dir rl-prompts-per-eval "
     "rl-rollout-bank-dir rl-rollout-bank-max-bytes rl-sequence-packing-algo "
     "rl-sequence-packing-bin-size rl-sequence-packing-max-sequences-per-bin "
     "rl-submission-granularity"},
    {SS_FLAG_REFUSED, '*', "reinforcement learning steps are not modelled", "rl-inference-parsers"},
    {SS_FLAG_NO_EFFECT, '0', NULL, "cache-mla-latents"},
    {SS_FLAG_REFUSED, '1', "take --qk-head-dim and --qk-pos-emb-head-dim",
     "qk-nope-head-dim qk-rope-head-dim"},
    {SS_FLAG_REFUSED, '1', "layers that differ in kind are not modelled",
     "experimental-attention-variant gdp-num-chunk-states-to-recompute gdp-num-householder "
     "heterogeneous-layers-config-encoded-json heterogeneous-layers-config-path "
     "hybrid-attention-ratio hybrid-layer-pattern hybrid-mlp-ratio hybrid-override-pattern "
     "inference-dynamic-batching-mamba-memory-ratio "
     "inference-dynamic-batching-prefix-caching-mamba-gb linear-attention-freq "
     "linear-conv-kernel-dim linear-key-head-dim linear-num-key-heads linear-num-value-heads "
     "linear-value-head-dim mamba-head-dim mamba-inference-conv-states-dtype "
     "mamba-inference-ssm-states-dtype mamba-num-groups mamba-num-heads mamba-state-dim "
     "mamba-training-ssm-states-dtype"},
    {SS_FLAG_REFUSED, '0', "layers that differ in kind are not modelled",
     "disable-mamba-mem-eff-path gdp-cutedsl-kernel is-hybrid-model"},
    {SS_FLAG_REFUSED, '1', "sparse attention is not modelled",
     "dsa-indexer-head-dim dsa-indexer-k-norm-epsilon dsa-indexer-loss-coeff "
     "dsa-indexer-n-heads dsa-indexer-skip-topk-offset dsa-indexer-topk dsa-indexer-topk-freq "
     "dsa-kernel-backend"},
    {SS_FLAG_REFUSED, '1', "take --window-size", "sliding-window"},
    {SS_FLAG_REFUSED, '0', "sparse attention is not modelled",
     "disable-dsa-indexer-rotate-activation disable-dsa-indexer-scoring-relu "
     "dsa-indexer-k-norm-fp32 dsa-indexer-rope-interleaved dsa-indexer-use-sparse-loss "
     "no-dsa-indexer-rotate-activation no-dsa-indexer-scoring-relu"},
    {SS_FLAG_REFUSED, '0', "hyper-connections are not modelled", "enable-mhc-connections"},
    {SS_FLAG_REFUSED, '1', "hyper-connections are not modelled",
     "mhc-init-gating-factor mhc-num-residual-streams mhc-recompute-layer-num "
     "mhc-sinkhorn-iterations"},
    {SS_FLAG_REFUSED, '1', "encoder-decoder models are not modelled",
     "decoder-num-layers decoder-seq-length encoder-pipeline-model-parallel-size "
     "encoder-tensor-model-parallel-size pipeline-model-parallel-split-rank"},
    {SS_FLAG_REFUSED, '0', "take --pipeline-model-parallel-layout", "standalone-embedding-stage"},
    {SS_FLAG_REFUSED, '1', "quantizers of one's own are not modelled", "fp4-quantizer-factory"},
    {SS_FLAG_REFUSED, '0', "layers of different precision are not modelled",
     "disable-fp8-wgrad first-last-layers-bf16 fp8-output-proj no-fp8-wgrad "
     "use-kitchen-attention"},
    {SS_FLAG_REFUSED, '1', "layers of different precision are not modelled",
     "fp8-quantizer-factory kitchen-attention-backend kitchen-config-file "
     "kitchen-recipe-number num-layers-at-end-in-bf16 num-layers-at-start-in-bf16 "
     "te-precision-config-file"},
    {SS_FLAG_REFUSED, '0', "a residual stream in fp32 is not modelled",
     "embedding-weights-in-fp32 fp32-residual-connection"},
    {SS_FLAG_REFUSED, '0', "activations distributed over the tensor group are not modelled",
     "distribute-checkpointed-activations distribute-saved-activations"},
    {SS_FLAG_REFUSED, '0', "weight shards by tensor rank are not modelled",
     "gtp-expert-remat-nccl-ub gtp-remat-nccl-ub "
     "gtp-remat-reduce-scatter-with-fp32-accumulation"},
    {SS_FLAG_REFUSED, '1', "weight shards by tensor rank are not modelled",
     "expert-tensor-parallel-num-weight-shards tensor-parallel-num-weight-shards"},
    {SS_FLAG_REFUSED, '+', "weight shards by tensor rank are not modelled", "gtp-remat-opt-in-modules"},
    {SS_FLAG_REFUSED, '0', "context parallelism by the length of documents is not modelled",
     "hybrid-context-parallel"},
    {SS_FLAG_REFUSED, '1', "context parallelism by the length of documents is not modelled",
     "max-seqlen-per-dp-cp-rank"},
    {SS_FLAG_REFUSED, '1', "such offloading is not modelled", "delta-offload-bytes-across-pp-ranks"},
    {SS_FLAG_REFUSED, '1', "distillation is not modelled",
     "logits-load-decode-threads logits-load-dir logits-load-kd-loss-alpha "
     "logits-load-msc-prefetch-depth logits-load-prefetch-factor logits-save-dir "
     "logits-save-dtype logits-save-top-k logits-save-top-p logits-save-top-p-min-k"},
    {SS_FLAG_REFUSED, '0', "distillation is not modelled", "logits-load-ignore-errors"},
    {SS_FLAG_REFUSED, '0', "training of a part of the layers is not modelled", "freeze-all-layers"},
    {SS_FLAG_REFUSED, '1', "MLPs cut in chunks are not modelled", "mlp-chunks-for-training"},
    {SS_FLAG_REFUSED, '1', "a YAML configuration is not read: give the flags", "yaml-cfg"},
    {SS_FLAG_REFUSED, '1', "a batch that changes during the run is not modelled", "step-batch-size-schedule"},
    {0, 0, NULL, NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of Megatron-LM and of Pai-Megatron-Patch that have no effect on the time or memory of an iteration, by reason and number
 * of values. Names without their leading "--". */
#include "job/flags.h"

const struct ss_flag_group ss_flag_ignored[] = {
    {SS_FLAG_NO_EFFECT, '0', "checkpoints",
     "async-ckpt-use-cpu-shm async-save auto-detect-ckpt-format ckpt-assume-constant-structure "
     "ckpt-convert-update-legacy-dist-opt-format ckpt-drop-redundant-extra-state "
     "ckpt-fully-parallel-load ckpt-fully-parallel-load-per-rank-objects ckpt-fully-parallel-save "
     "ckpt-pg-tensors-cache-create convert-checkpoint-from-megatron-to-transformers "
     "disable-ckpt-load-validate-sharding-integrity disable-save-tokenizer-assets "
     "disable-strict-fsdp-dtensor-load disable-use-tokenizer-model-from-checkpoint-args "
     "dist-ckpt-optim-fully-reshardable dist-ckpt-save-pre-mcore-014 "
     "distrib-optim-fully-reshardable-mem-efficient exit-on-missing-checkpoint "
     "export-legacy-megatron export-te-mcore-model finetune load-main-params-from-ckpt "
     "load-model-opt-format moe-use-upcycling no-ckpt-fully-parallel-save "
     "no-ckpt-load-validate-sharding-integrity no-load-optim no-load-rng no-save-optim no-save-rng "
     "no-save-tokenizer-assets no-strict-fsdp-dtensor-load "
     "no-use-tokenizer-model-from-checkpoint-args replication use-checkpoint-opt-param-scheduler "
     "use-dist-ckpt use-persistent-ckpt-worker verify-integrity"},
    {SS_FLAG_NO_EFFECT, '1', "checkpoints",
     "async-ckpt-cpu-priority async-ckpt-io-priority async-strategy bert-load ckpt-convert-format "
     "ckpt-convert-save ckpt-format ckpt-fully-parallel-load-exchange-algo "
     "ckpt-fully-parallel-load-process-group ckpt-fully-parallel-save-process-group "
     "ckpt-pg-tensors-cache-path ckpt-step dist-ckpt-format dist-ckpt-strictness dist-ckpt-workers "
     "load moe-upcycling-granularity non-persistent-ckpt-type non-persistent-global-ckpt-dir "
     "non-persistent-local-ckpt-algo non-persistent-local-ckpt-dir non-persistent-save-interval "
     "override-ckpt-iteration persistent-save-interval pretrained-checkpoint replication-factor "
     "replication-jump save save-activations-interval save-dgrads-interval save-interval "
     "save-params-interval save-retain-interval save-tokens-per-expert-interval "
     "save-wgrads-interval"},
    {SS_FLAG_NO_EFFECT, '0', "data and tokenizer",
     "allow-ambiguous-pad-tokens dataloader-defer-npy-index-mmap dataloader-fast-cache-load "
     "disable-tokenizer-sentencepiece-ignore-extra-whitespaces fim-data legacy-tokenizer "
     "mmap-warmup mock-data no-data-sharding no-mmap-bin-files "
     "no-tokenizer-sentencepiece-ignore-extra-whitespaces renormalize-blend-weights "
     "tokenizer-hf-no-include-special-tokens tokenizer-hf-no-use-fast "
     "tokenizer-sentencepiece-legacy trust-remote-code use-gigatoken"},
    {SS_FLAG_NO_EFFECT, '1', "data and tokenizer",
     "chat-template data-args-path data-cache-path data-dir data-impl dataloader-save "
     "dataloader-type dataset dataset-config fim-eod-token fim-fragment-rate fim-middle-token "
     "fim-no-prefix fim-pad-token fim-prefix-token fim-rate fim-split-sample fim-spm-rate "
     "fim-suffix-token finetune-data-split finetune-hf-dataset mask-prob max-padding-length "
     "mid-level-dataset-surplus null-tokenizer-eod-id null-tokenizer-pad-id "
     "num-dataset-builder-threads num-workers object-storage-cache-path per-dataset-sequences-path "
     "per-split-data-args-path prompt-path retriever-seq-length s3-cache-path sample-rate "
     "sft-tokenizer-prompt-format short-seq-prob source-seq-len split target-seq-len "
     "tiktoken-num-special-tokens tiktoken-pattern tokenizer-metadata "
     "tokenizer-prompt-format vocab-extra-ids vocab-file"},
    {SS_FLAG_NO_EFFECT, '+', "data and tokenizer",
     "finetune-data-files iterations-to-skip tiktoken-special-tokens tokenizer-special-tokens "
     "train-data valid-data"},
    {SS_FLAG_NO_EFFECT, '*', "data and tokenizer",
     "data-path special-tokens test-data-path train-data-path valid-data-path"},
    {SS_FLAG_NO_EFFECT, '0', "logging and profiling",
     "disable-log-loss-scale-to-tensorboard disable-manual-gc-eval disable-straggler-on-startup "
     "log-batch-size-to-tensorboard log-device-memory-used log-energy log-memory-to-tensorboard "
     "log-progress log-straggler log-throughput log-timers-to-tensorboard "
     "log-validation-ppl-to-tensorboard log-world-size-to-tensorboard manual-gc "
     "moe-per-layer-logging moe-routing-trace-capture-hidden-states "
     "moe-routing-trace-capture-logits moe-routing-trace-dump-weights "
     "no-barrier-with-level-1-timing no-log-learnig-rate-to-tensorboard "
     "no-log-loss-scale-to-tensorboard no-manual-gc-eval no-one-logger nvtx-ranges "
     "one-logger-async otel-enabled profile pytorch-profiler-collect-callstack "
     "pytorch-profiler-collect-chakra pytorch-profiler-collect-shapes record-memory-history "
     "record-shapes run-workload-inspector-server use-pytorch-profiler"},
    {SS_FLAG_NO_EFFECT, '1', "logging and profiling",
     "app-tag-run-name app-tag-run-version check-weight-hash-across-dp-replicas-interval "
     "dump-param-to-param-group-map gpu-sniff-test-interval log-interval log-memory-interval "
     "logging-level manual-gc-interval memory-snapshot-path moe-routing-trace-max-training-iters "
     "moe-routing-trace-path one-logger-project one-logger-run-name otel-service-name "
     "otel-span-groups profile-step-end profile-step-start straggler-ctrlr-port "
     "straggler-minmax-count tensorboard-dir tensorboard-log-interval tensorboard-queue-size "
     "timing-log-level timing-log-option train-sync-interval verbosity wandb-entity wandb-exp-name "
     "wandb-project wandb-save-dir"},
    {SS_FLAG_NO_EFFECT, '+', "logging and profiling", "profile-ranks"},
    {SS_FLAG_NO_EFFECT, '0', "generation of text",
     "adaptive-seq-len cache-mla-latents decode-only-cuda-graphs disable-chunked-prefill "
     "enable-chunked-prefill flash-decode inference-cuda-graph-all-prefills "
     "inference-disable-ep-consensus inference-disable-triton-nvls-kernels "
     "inference-dynamic-batching inference-dynamic-batching-prefix-caching "
     "inference-dynamic-batching-track-generated-token-events "
     "inference-dynamic-batching-track-paused-request-events inference-fuse-tp-communication "
     "inference-moe-disable-fused-quant-kernels inference-rng-tracker "
     "inference-text-gen-server-logging inference-use-synchronous-zmq-collectives "
     "inference-wandb-logging moe-pad-experts-for-cuda-graph-inference nccl-all-reduce-for-prefill "
     "no-inference-disable-ep-consensus no-inference-dynamic-batching-prefix-caching "
     "no-inference-text-gen-server-logging no-inference-use-synchronous-zmq-collectives "
     "no-inference-wandb-logging time use-legacy-static-engine "
     "use-same-sampling-seed-across-dp-ranks"},
    {SS_FLAG_NO_EFFECT, '1', "generation of text",
     "export-kv-cache-quant generation-length inference-batch-times-seqlen-threshold "
     "inference-coordinator-port inference-cuda-graph-max-tokens inference-cuda-graph-scope "
     "inference-dynamic-batching-async-sched-mode inference-dynamic-batching-block-size "
     "inference-dynamic-batching-buffer-guaranteed-fraction "
     "inference-dynamic-batching-buffer-overflow-factor inference-dynamic-batching-buffer-size-gb "
     "inference-dynamic-batching-chunk-size "
     "inference-dynamic-batching-cuda-graph-mixed-prefill-count "
     "inference-dynamic-batching-cuda-graph-sizing-distribution "
     "inference-dynamic-batching-logprobs-mode inference-dynamic-batching-max-requests "
     "inference-dynamic-batching-max-requests-override inference-dynamic-batching-max-tokens "
     "inference-dynamic-batching-max-tokens-override inference-dynamic-batching-num-cuda-graphs "
     "inference-dynamic-batching-paused-buffer-size-gb "
     "inference-dynamic-batching-prefix-caching-coordinator-policy "
     "inference-dynamic-batching-prefix-caching-eviction-policy "
     "inference-dynamic-batching-prefix-caching-routing-alpha "
     "inference-dynamic-batching-sampling-backend inference-dynamic-batching-unified-memory-level "
     "inference-grouped-gemm-backend inference-logging-step-interval inference-max-batch-size "
     "inference-max-requests inference-max-seq-length inference-moe-token-dispatcher-type "
     "inference-shards input-len max-tokens-to-oom mlp-chunks-for-prefill num-speculative-tokens "
     "out-seq-length repetition-penalty repetition_penalty temperature text-generate-gt-file "
     "text-generate-input-file text-generate-output-file top-k top-p"},
    {SS_FLAG_NO_EFFECT, '0', "evaluation",
     "eval-dev eval-fp32 full-validation multiple-validation-sets output-bert-embeddings "
     "skip-train test-mode"},
    {SS_FLAG_NO_EFFECT, '1', "evaluation",
     "bert-embedder-type eval-global-batch-size eval-interval eval-iters eval-micro-batch-size "
     "moe-eval-capacity-factor num-fewshot online-evaluation-config start-eval-at-iter task-list"},
    {SS_FLAG_NO_EFFECT, '+', "evaluation", "validation-set-names"},
    {SS_FLAG_NO_EFFECT, '0', "faults, restarts and exits",
     "adlr-autoresume calc-ft-timeouts check-for-large-grads check-for-spiky-loss "
     "enable-ft-package exit-signal-handler exit-signal-handler-for-dataloader "
     "exit-signal-handler-for-training inprocess-empty-cuda-cache inprocess-restart"},
    {SS_FLAG_NO_EFFECT, '1', "faults, restarts and exits",
     "adlr-autoresume-interval error-injection-rate error-injection-type exit-signal "
     "fault-injector-delay-start-iteration fault-injector-fault-delay "
     "fault-injector-fault-probabilities fault-injector-fault-types fault-injector-mtti-seconds "
     "fault-injector-num-ranks fault-injector-offset-seconds fault-injector-ranks "
     "fault-injector-seed ft-num-warmup-iters inprocess-active-world-size "
     "inprocess-barrier-timeout inprocess-completion-timeout inprocess-granularity "
     "inprocess-hard-timeout inprocess-heartbeat-interval inprocess-heartbeat-timeout "
     "inprocess-last-call-wait inprocess-max-iterations inprocess-monitor-process-interval "
     "inprocess-monitor-thread-interval inprocess-progress-watchdog-interval "
     "inprocess-soft-timeout inprocess-termination-grace-time rerun-mode "
     "result-rejected-tracker-filename"},
    {SS_FLAG_NO_EFFECT, '0', "how the model learns, not how long it takes",
     "apply-wd-to-qk-layernorm calculate-per-token-loss data-parallel-random-init eod-mask-loss "
     "export-moe-apply-probs-on-input init-method-xavier-uniform moe-apply-probs-on-input "
     "muon-nesterov override-opt-param-scheduler override-opt_param-scheduler "
     "use-checkpoint-opt_param-scheduler use-mup"},
    {SS_FLAG_NO_EFFECT, '1', "how the model learns, not how long it takes",
     "adam-beta1 adam-beta2 adam-eps decoupled-lr decoupled-min-lr embedding-init-method-std "
     "end-weight-decay head-lr-mult hysteresis init-method-std initial-loss-scale "
     "layernorm-epsilon lion-beta1 lion-beta2 loss-scale loss-scale-window lr lr-decay-iters "
     "lr-decay-samples lr-decay-steps lr-decay-style lr-warmup-fraction lr-warmup-init "
     "lr-warmup-iters lr-warmup-samples lr-warmup-steps lr-wsd-decay-iters lr-wsd-decay-samples "
     "lr-wsd-decay-style min-loss-scale min-lr moe-loss-coeff moe-router-bias-update-rate "
     "moe-router-quantile-balancing-ema moe-z-loss-coeff mtp-loss-scaling-factor "
     "muon-extra-scale-factor muon-momentum muon-scale-mode mup-attn-scale-power mup-base-head-dim "
     "mup-base-hidden-size mup-embedding-mult mup-output-mult mup-width-mult "
     "no-weight-decay-cond-type norm-epsilon qk-clip-alpha qk-clip-threshold seed sgd-momentum "
     "start-weight-decay wd-incr-steps weight-decay weight-decay-incr-style wsd-decay-steps"},
    {SS_FLAG_NO_EFFECT, '+', "how the model learns, not how long it takes", "moe-aux-loss-coeff"},
    {SS_FLAG_NO_EFFECT, '0', "other values in kernels that take as long",
     "apply-layernorm-1p apply-query-key-layer-scaling apply-residual-connection-post-layernorm "
     "attention-softmax-in-fp32 bert-no-binary-head moe-enable-routing-replay "
     "moe-router-pre-softmax moe-single-grouped-bias moe-single-grouped-weight "
     "no-yarn-correction-range-round-to-int openai-gelu rotary-interleaved use-rope-scaling "
     "yarn-correction-range-round-to-int"},
    {SS_FLAG_NO_EFFECT, '1', "other values in kernels that take as long",
     "cuda-graph-warmup-steps fp8-amax-compute-algo fp8-amax-history-len fp8-interval fp8-margin "
     "glu-linear-offset moe-min-capacity moe-mlp-glu-interleave-size "
     "moe-router-topk-scaling-factor moe-shared-expert-glu-interleave-size moe-token-drop-policy "
     "mscale mscale-all-dim onnx-safe relative-attention-max-distance "
     "relative-attention-num-buckets rope-scaling-factor rope-type rotary-base rotary-percent "
     "rotary-scale-factor rotary-scaling-factor rotary-seq-len-interpolation-factor router-type "
     "yarn-beta-fast yarn-beta-slow yarn-original-max-position-embeddings"},
    {SS_FLAG_NO_EFFECT, '+', "other values in kernels that take as long", "mrope-section"},
    {SS_FLAG_NO_EFFECT, '0', "how a run is set up",
     "disable-flight-recorder-dump-on-timeout disable-flight-recorder-extra-dump-on-exec "
     "disable-flight-recorder-include-only-active disable-gloo-process-groups disable-msc "
     "enable-experimental enable-msc fake-process-group flight-recorder-include-stack-trace "
     "init-model-with-meta-device no-contiguous-buffers-in-local-ddp "
     "no-flight-recorder-dump-on-timeout no-flight-recorder-extra-dump-on-exec "
     "no-flight-recorder-include-only-active no-initialization te-rng-tracker "
     "use-cpu-initialization use-mcore-models"},
    {SS_FLAG_NO_EFFECT, '1', "how a run is set up",
     "config-logger-dir DDP-impl distributed-backend distributed-timeout-minutes "
     "distributed-timeout-seconds-after-init flight-recorder-dump-path "
     "flight-recorder-trace-buffer-size local-rank local_rank "
     "tp-comm-bootstrap-backend transformer-type"},
    {SS_FLAG_NO_EFFECT, '*', "how a run is set up", "lazy-mpu-init"}, /* with a value in older releases */
    {SS_FLAG_NO_EFFECT, '1', "how many iterations there are, not how long one takes",
     "epochs exit-duration-in-mins exit-interval phase-transition-iterations train-iters "
     "train-mode train-samples"},
    {SS_FLAG_NO_EFFECT, '0', "says what is so anyway",
     "ddp-average-in-collective ddp-pad-buckets-for-high-nccl-busbw disable-parallel-output "
     "disable-symmetric-registration enable-parallel-output keep-last moe "
     "no-create-attention-mask-in-dataloader no-gradient-reduce-div-fusion "
     "no-query-key-layer-scaling overlap-p2p-communication"},
    {SS_FLAG_NO_EFFECT, '1', "says what is so anyway",
     "optimizer-offload-auto-threshold optimizer-offload-chunk-size"},
    {0, 0, NULL, NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Flags that the prediction reads, and stepsim's own. */
#include "job/flags.h"
#include "job/flags_set.h"

#define AT(field) offsetof(struct ss_job, field)
/* One macro a kind: name, field, ..., meaning */
#define SET(name, field, value, doc)                                                                         \
    {name, '0', SS_FLAG_MODELLED, SS_FLAG_SET, AT(field), value, 0, NULL, NULL, doc},
#define OWN_SET(name, field, value, doc)                                                                     \
    {name, '0', SS_FLAG_OWN, SS_FLAG_SET, AT(field), value, 0, NULL, NULL, doc},
#define INT(name, field, low, high, doc)                                                                     \
    {name, '1', SS_FLAG_MODELLED, SS_FLAG_INT, AT(field), low, high, NULL, NULL, doc},
#define OWN_INT(name, field, low, high, doc)                                                                 \
    {name, '1', SS_FLAG_OWN, SS_FLAG_INT, AT(field), low, high, NULL, NULL, doc},
#define NUMBER(name, field, low, high, doc)                                                                  \
    {name, '1', SS_FLAG_MODELLED, SS_FLAG_DOUBLE, AT(field), low, high, NULL, NULL, doc},
#define CHOICE(name, field, list, doc)                                                                       \
    {name, '1', SS_FLAG_MODELLED, SS_FLAG_CHOICE, AT(field), 0, 0, list, NULL, doc},
#define OWN_TEXT(name, field, doc)                                                                           \
    {name, '1',  SS_FLAG_OWN, SS_FLAG_TEXT, AT(field), 0, sizeof(((struct ss_job *)0)->field),               \
     NULL, NULL, doc},
#define CALL(name, values, fn, doc) {name, values, SS_FLAG_MODELLED, SS_FLAG_CALL, 0, 0, 0, NULL, fn, doc},
/* Words that fn takes, for those who list them. */
#define CALL_OF(name, values, fn, list, doc)                                                                 \
    {name, values, SS_FLAG_MODELLED, SS_FLAG_CALL, 0, 0, 0, list, fn, doc},
#define OWN_CALL_OF(name, values, fn, list, doc)                                                             \
    {name, values, SS_FLAG_OWN, SS_FLAG_CALL, 0, 0, 0, list, fn, doc},
#define OWN_CALL(name, values, fn, doc) {name, values, SS_FLAG_OWN, SS_FLAG_CALL, 0, 0, 0, NULL, fn, doc},

#define MAX_DEGREE (1 << 20)
#define MAX_SIZE (1 << 26)

static const struct ss_flag_choice method[] = {
    {"uniform", SS_RECOMPUTE_UNIFORM}, {"block", SS_RECOMPUTE_BLOCK}, {NULL, 0}};
static const struct ss_flag_choice attention[] = {
    {"flash", SS_ATTENTION_FLASH},   {"fused", SS_ATTENTION_FUSED}, {"unfused", SS_ATTENTION_UNFUSED},
    {"local", SS_ATTENTION_UNFUSED}, {"auto", SS_ATTENTION_AUTO},   {NULL, 0}};
static const struct ss_flag_choice sharding[] = {{"no_shard", SS_SHARD_NONE},
                                                 {"optim", SS_SHARD_OPTIM},
                                                 {"optim_grads", SS_SHARD_OPTIM_GRADS},
                                                 {"optim_grads_params", SS_SHARD_OPTIM_GRADS_PARAMS},
                                                 {NULL, 0}};
static const struct ss_flag_choice outer[] = {
    {"no_shard", SS_SHARD_NONE}, {"optim", SS_SHARD_OPTIM}, {NULL, 0}};
static const struct ss_flag_choice norm[] = {
    {"LayerNorm", SS_NORM_LAYERNORM}, {"RMSNorm", SS_NORM_RMSNORM}, {NULL, 0}};
static const struct ss_flag_choice position[] = {{"learned_absolute", SS_POSITION_LEARNED},
                                                 {"rope", SS_POSITION_ROPE},
                                                 {"mrope", SS_POSITION_ROPE},
                                                 {"yarn", SS_POSITION_ROPE},
                                                 {"none", SS_POSITION_NONE},
                                                 {NULL, 0}};
static const struct ss_flag_choice impl[] = {{"local", 1}, {"transformer_engine", 0}, {NULL, 0}};

#define WORD(name)                                                                                           \
    {                                                                                                        \
        name, 0                                                                                              \
    }
static const struct ss_flag_choice precision[] = {
#define X(symbol, name) WORD(name),
    SS_PRECISION_LIST(X)
#undef X
        {NULL, 0}};
static const struct ss_flag_choice recompute[] = {{"none", SS_RECOMPUTE_NONE},
                                                  {"selective", SS_RECOMPUTE_SELECTIVE},
                                                  {"full", SS_RECOMPUTE_FULL},
                                                  {NULL, 0}};
static const struct ss_flag_choice fsdp[] = {
    WORD("full"), WORD("grad"), WORD("hybrid"), WORD("none"), {NULL, 0}};
static const struct ss_flag_choice fp8[] = {WORD("hybrid"), WORD("e4m3"), WORD("none"), {NULL, 0}};
static const struct ss_flag_choice optimizer[] = {WORD("adam"), WORD("adamw"), WORD("hybridadam"), {NULL, 0}};
static const struct ss_flag_choice fp32[] = {WORD("fp32"), {NULL, 0}};

/* clang-format off */
const struct ss_flag_setter ss_flag_setters[] = {
    /* ---- stepsim's own ---- */
    OWN_TEXT("--platform", platform, "name in platforms/ or path of a SimGrid XML")
    OWN_INT("--nodes", nodes, 1, 65536, "nodes of the platform")
    OWN_INT("--gpus-per-node", gpus_per_node, 1, 1024, "uses this many GPUs of each node of a template; default all")
    OWN_TEXT("--model", model_ref, "name in workloads/models or path of a config.json")
    OWN_TEXT("--stack", stack, "name in workloads/stacks or path of a software profile")
    {"--set", '1', SS_FLAG_OWN, SS_FLAG_PROP, 0, 0, 0, NULL, NULL, "ss.PROP=VALUE: one value of the card or the stack; may be repeated"},
    OWN_TEXT("--schedule", schedule, "auto, a name of `schedule list`, or a schedule file")
    {"--job", '1', SS_FLAG_OWN, SS_FLAG_CALL, 0, 0, 0, NULL, ss_flag_job, "file of flags; the command line beats it"},
    OWN_CALL("--measured", '1', ss_flag_measured, "measured iteration time, as 33070.9ms")
    OWN_CALL("--measured-memory", '1', ss_flag_measured_memory, "measured device memory, as 72542MiB")
    OWN_INT("--tp", tp, 1, MAX_DEGREE, "--tensor-model-parallel-size")
    OWN_INT("--pp", pp, 1, MAX_DEGREE, "--pipeline-model-parallel-size")
    OWN_INT("--cp", cp, 1, MAX_DEGREE, "--context-parallel-size")
    OWN_CALL("--vp", '1', ss_flag_vp, "--num-virtual-stages-per-pipeline-rank, in place of --num-layers-per-virtual-pipeline-stage; 1: none")
    OWN_CALL("--virtual-pipeline-model-parallel-size", '1', ss_flag_vp, "NeMo's name of it")
    OWN_INT("--ep", ep, 1, MAX_DEGREE, "--expert-model-parallel-size")
    OWN_INT("--etp", etp, 1, MAX_DEGREE, "--expert-tensor-parallel-size")
    OWN_INT("--mbs", micro_batch, 1, MAX_SIZE, "--micro-batch-size")
    OWN_INT("--gbs", global_batch, 1, MAX_SIZE, "--global-batch-size")
    OWN_INT("--seq", seq_length, 1, MAX_SIZE, "--seq-length")
    OWN_CALL_OF("--precision", '1', ss_flag_precision, precision, "fp32, fp16, bf16 or fp8 (hybrid over bf16)")
    OWN_CALL_OF("--recompute", '1', ss_flag_recompute, recompute, "none, selective or full (uniform, 1 layer)")
    OWN_CALL_OF("--fsdp", '1', ss_flag_fsdp, fsdp,
        "NeMo's words: full = optim_grads_params, grad = optim_grads, hybrid = full inside a node, none")
    OWN_CALL("--rank-order", '1', ss_flag_rank_order,
        "order of the parallel axes, first one fastest: tp-cp-ep-dp-pp")
    OWN_INT("--microbatch-group-size-per-vp-stage", microbatch_group_size, 1, MAX_SIZE,
        "--microbatch-group-size-per-virtual-pipeline-stage")
    OWN_SET("--no-cpu-offloading-activations", cpu_offload_activations, 0,
        "CPU offloading leaves activations on the device")
    OWN_SET("--no-cpu-offloading-weights", cpu_offload_weights, 0,
        "CPU offloading leaves weights on the device")
    OWN_SET("--cpu-offloading-activations", cpu_offload_activations, 1,
        "CPU offloading moves activations (default)")
    OWN_SET("--cpu-offloading-weights", cpu_offload_weights, 1, "CPU offloading moves weights (default)")

    /* ---- parallel layout ---- */
    INT("--tensor-model-parallel-size", tp, 1, MAX_DEGREE, NULL)
    INT("--pipeline-model-parallel-size", pp, 1, MAX_DEGREE, NULL)
    INT("--context-parallel-size", cp, 1, MAX_DEGREE, NULL)
    INT("--expert-model-parallel-size", ep, 1, MAX_DEGREE, "above 1 only with experts, which are refused")
    INT("--expert-tensor-parallel-size", etp, 1, MAX_DEGREE, "only with experts, which are refused")
    INT("--num-layers-per-virtual-pipeline-stage", layers_per_virtual_stage, 1, 100000, NULL)
    INT("--num-virtual-stages-per-pipeline-rank", virtual_stages, 1, 100000, NULL)
    INT("--microbatch-group-size-per-virtual-pipeline-stage", microbatch_group_size, 1, MAX_SIZE, NULL)
    INT("--decoder-first-pipeline-num-layers", first_stage_layers, 1, 100000, NULL)
    INT("--decoder-last-pipeline-num-layers", last_stage_layers, 1, 100000, NULL)
    SET("--account-for-embedding-in-pipeline-split", account_for_embedding, 1, "the first virtual stage has a layer less")
    SET("--account-for-loss-in-pipeline-split", account_for_loss, 1, "the last virtual stage has a layer less")
    CALL("--use-tp-pp-dp-mapping", '0', ss_flag_tp_pp_dp, "rank order tp-pp-dp")
    SET("--no-overlap-p2p-communication", overlap_p2p, 0, NULL)
    SET("--no-scatter-gather-tensors-in-pipeline", scatter_gather, 0,
        "releases before Megatron core: each tensor rank sends its share, the receivers gather it")
    SET("--sequence-parallel", sequence_parallel, 1, "off at tensor parallel 1, as Megatron does")
    SET("--tp-comm-overlap", tp_comm_overlap, 1, NULL)
    CALL_OF("--cp-comm-type", '+', ss_flag_cp_comm, ss_flag_cp_comms, "the same for all layers")

    /* ---- batch and precision ---- */
    INT("--micro-batch-size", micro_batch, 1, MAX_SIZE, NULL)
    INT("--global-batch-size", global_batch, 1, MAX_SIZE, NULL)
    INT("--seq-length", seq_length, 1, MAX_SIZE, NULL)
    INT("--encoder-seq-length", seq_length, 1, MAX_SIZE, "--seq-length")
    CALL("--fp16", '0', ss_flag_fp16, NULL)
    CALL("--bf16", '0', ss_flag_bf16, NULL)
    CALL_OF("--fp8-format", '1', ss_flag_fp8_format, fp8, "hybrid, e4m3 (costs the same) or none")
    CALL("--fp8-hybrid", '0', ss_flag_fp8, "name of older releases")
    CALL("--fp8-e4m3", '0', ss_flag_fp8, "name of older releases")
    SET("--fp8-param-gather", fp8_param_gather, 1, NULL)
    CHOICE("--attention-backend", attention, attention,
        "auto: flash in 16 bit or as the stack says, unfused in fp32")
    SET("--use-flash-attn", attention, SS_ATTENTION_FLASH, NULL)
    CHOICE("--transformer-impl", transformer_local, impl, "local: no fp8, no context parallelism, unfused attention unless another is named")
    NUMBER("--attention-dropout", attention_dropout, 0, 1, NULL)
    NUMBER("--hidden-dropout", hidden_dropout, 0, 1, NULL)

    /* ---- recompute ---- */
    CALL("--recompute-activations", '0', ss_flag_recompute_activations, NULL)
    CALL_OF("--recompute-granularity", '1', ss_flag_recompute_granularity, recompute + 1, "selective or full")
    CHOICE("--recompute-method", recompute_method, method, NULL)
    INT("--recompute-num-layers", recompute_num_layers, 1, 100000, NULL)
    CALL("--recompute-modules", '*', ss_flag_recompute_modules,
        "core_attn only: what selective recompute does by default")
    CALL("--checkpoint-activations", '0', ss_flag_checkpoint_activations,
        "name of older releases: full, uniform")
    INT("--checkpoint-num-layers", recompute_num_layers, 1, 100000, "name of older releases")

    /* ---- data parallel and optimizer ---- */
    SET("--use-distributed-optimizer", distributed_optimizer, 1, NULL)
    CHOICE("--data-parallel-sharding-strategy", sharding, sharding, "with --use-megatron-fsdp")
    CHOICE("--outer-dp-sharding-strategy", outer_sharding, outer, "with --fsdp hybrid")
    SET("--use-megatron-fsdp", fsdp, 1, NULL)
    SET("--use-custom-fsdp", fsdp, 1, "--use-megatron-fsdp")
    CALL("--use-torch-fsdp2", '0', ss_flag_fsdp2, "optim_grads_params")
    CALL("--num-distributed-optimizer-instances", '1', ss_flag_optimizer_instances,
        "1 only; --fsdp hybrid shards inside a node")
    SET("--overlap-grad-reduce", overlap_grad_reduce, 1, NULL)
    SET("--overlap-param-gather", overlap_param_gather, 1, NULL)
    SET("--accumulate-allreduce-grads-in-fp32", grad_reduce_fp32, 1, "bf16 implies it")
    SET("--grad-reduce-in-bf16", grad_reduce_bf16, 1, "beats --accumulate-allreduce-grads-in-fp32")
    NUMBER("--ddp-bucket-size", bucket_size, 1, 1e15, "in parameters")
    CALL("--cpu-offloading", '0', ss_flag_cpu_offloading,
        "needs --cpu-offloading-num-layers to move anything")
    INT("--cpu-offloading-num-layers", cpu_offload_layers, 0, 100000, NULL)
    CALL_OF("--optimizer", '1', ss_flag_optimizer, optimizer, "adam; hybridadam moves the optimizer to the host")
    CALL("--optimizer-cpu-offload", '0', ss_flag_optimizer_offload, NULL)
    CALL("--optimizer-offload-fraction", '1', ss_flag_optimizer_fraction, NULL)
    CALL("--optimizer-offload-policy", '1', ss_flag_optimizer_policy, "static only")
    CALL_OF("--main-grads-dtype", '1', ss_flag_fp32_only, fp32, "fp32 only")
    CALL_OF("--main-params-dtype", '1', ss_flag_fp32_only, fp32, "fp32 only")
    CALL_OF("--exp-avg-dtype", '1', ss_flag_fp32_only, fp32, "fp32 only")
    CALL_OF("--exp-avg-sq-dtype", '1', ss_flag_fp32_only, fp32, "fp32 only")
    SET("--no-check-for-nan-in-loss-and-grad", check_for_nan, 0, NULL)
    CALL("--clip-grad", '1', ss_flag_clip_grad, "0: neither gradient norm nor clipping")

    /* ---- shape ---- */
    INT("--num-layers", model.num_layers, 1, 100000, NULL)
    INT("--encoder-num-layers", model.num_layers, 1, 100000, "--num-layers")
    INT("--hidden-size", model.hidden_size, 1, 1 << 20, NULL)
    INT("--ffn-hidden-size", model.ffn_hidden_size, 1, 1 << 24,
        "default 4h, of a gated MLP but --quick-geglu's 8h/3 cut to a multiple of 64")
    INT("--num-attention-heads", model.num_attention_heads, 1, 1 << 16, NULL)
    SET("--group-query-attention", group_query_attention, 1, "1 group where neither a flag nor the model says")
    INT("--num-query-groups", model.num_query_groups, 1, 1 << 16,
        "grouped queries also without --group-query-attention")
    INT("--kv-channels", model.kv_channels, 1, 1 << 16, NULL)
    INT("--vocab-size", model.vocab_size, 1, MAX_SIZE, NULL)
    CALL("--padded-vocab-size", '1', ss_flag_padded_vocab, "rows as given, no more padding")
    INT("--extra-vocab-size", model.extra_vocab_size, 0, 1 << 24,
        "Pai-Megatron-Patch: rows added before padding")
    INT("--make-vocab-size-divisible-by", vocab_divisible_by, 1, 1 << 20, "times tensor parallel size")
    CALL("--tokenizer-type", '1', ss_flag_tokenizer,
        "names the vocabulary when neither a flag nor a model does; NullTokenizer adds a row to --vocab-size")
    CALL("--patch-tokenizer-type", '1', ss_flag_tokenizer, "Pai-Megatron-Patch: the same")
    INT("--max-position-embeddings", model.max_position_embeddings, 1, 1 << 30, NULL)
    CHOICE("--position-embedding-type", model.position, position, NULL)
    SET("--use-rotary-position-embeddings", model.position, SS_POSITION_ROPE, NULL)
    SET("--use-llama2-rotary-position-embeddings", model.position, SS_POSITION_ROPE,
        "Pai-Megatron-Patch: the same")
    SET("--no-position-embedding", no_position_embedding, 1, "only beside rope, which it says already")
    SET("--swiglu", model.gated_mlp, 1, NULL)
    CALL("--quick-geglu", '0', ss_flag_quick_geglu, NULL)
    SET("--untie-embeddings-and-output-weights", model.tied_embeddings, 0, NULL)
    SET("--disable-bias-linear", model.linear_bias, 0, NULL)
    SET("--add-qkv-bias", model.qkv_bias, 1, NULL)
    CHOICE("--normalization", model.normalization, norm, NULL)

    /* ---- read and kept; refused when the job is completed ---- */
    INT("--num-experts", model.num_experts, 0, 1 << 16, "experts are read, then refused")
    INT("--moe-router-topk", model.top_k, 1, 1 << 16, "only with experts")
    INT("--moe-ffn-hidden-size", model.moe_ffn_hidden_size, 1, 1 << 24, "only with experts")
    INT("--moe-shared-expert-intermediate-size", model.shared_expert_ffn_hidden_size, 0, 1 << 24,
        "only with experts")
    CALL("--moe-layer-freq", '1', ss_flag_moe_layer_freq, "only with experts")
    INT("--mtp-num-layers", model.mtp_num_layers, 0, 1000, "layers that predict further tokens, behind the last one, each with a loss")
    {NULL, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL},
};
/* clang-format on */

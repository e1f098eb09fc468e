/* SPDX-License-Identifier: Apache-2.0 */
/* Flags that the prediction reads, and stepsim's own. */
#include "job/flags.h"
#include "job/flags_set.h"
#include "stepsim/params.h"

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
#define OWN_NUMBER(name, field, low, high, doc)                                                              \
    {name, '1', SS_FLAG_OWN, SS_FLAG_DOUBLE, AT(field), low, high, NULL, NULL, doc},
#define CHOICE(name, field, list, doc)                                                                       \
    {name, '1', SS_FLAG_MODELLED, SS_FLAG_CHOICE, AT(field), 0, 0, list, NULL, doc},
#define OWN_CHOICE(name, field, list, doc)                                                                   \
    {name, '1', SS_FLAG_OWN, SS_FLAG_CHOICE, AT(field), 0, 0, list, NULL, doc},
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
static const struct ss_flag_choice packed_algorithm[] = {{"first_fit_shuffle", SS_PACKED_SHUFFLE},
                                                         {"first_fit_decreasing", SS_PACKED_DECREASING},
                                                         {"in_order", SS_PACKED_IN_ORDER},
                                                         {NULL, 0}};
static const struct ss_flag_choice norm[] = {
    {"LayerNorm", SS_NORM_LAYERNORM}, {"RMSNorm", SS_NORM_RMSNORM}, {NULL, 0}};
static const struct ss_flag_choice position[] = {{"learned_absolute", SS_POSITION_LEARNED},
                                                 {"rope", SS_POSITION_ROPE},
                                                 {"mrope", SS_POSITION_ROPE},
                                                 {"yarn", SS_POSITION_YARN},
                                                 {"none", SS_POSITION_NONE},
                                                 {NULL, 0}};
static const struct ss_flag_choice impl[] = {{"local", 1}, {"transformer_engine", 0}, {NULL, 0}};

static const struct ss_flag_choice router_dtype[] = {{"fp32", 1}, {"fp64", 2}, {NULL, 0}};

#define WORD(name)                                                                                           \
    {                                                                                                        \
        name, 0                                                                                              \
    }
static const struct ss_flag_choice precision[] = {
#define X(symbol, name) WORD(name),
    SS_PRECISION_LIST(X)
#undef X
        WORD("mxfp8"),
    {NULL, 0}};
static const struct ss_flag_choice recompute[] = {{"none", SS_RECOMPUTE_NONE},
                                                  {"selective", SS_RECOMPUTE_SELECTIVE},
                                                  {"full", SS_RECOMPUTE_FULL},
                                                  {"op-selective", SS_RECOMPUTE_SELECTIVE},
                                                  {NULL, 0}};
static const struct ss_flag_choice granularity[] = {
    {"selective", SS_RECOMPUTE_SELECTIVE}, {"full", SS_RECOMPUTE_FULL}, {NULL, 0}};
static const struct ss_flag_choice fsdp[] = {
    WORD("full"), WORD("grad"), WORD("hybrid"), WORD("none"), {NULL, 0}};
static const struct ss_flag_choice fp8[] = {WORD("hybrid"), WORD("e4m3"), WORD("none"), {NULL, 0}};
static const struct ss_flag_choice optimizer[] = {WORD("adam"), WORD("adamw"),     WORD("hybridadam"),
                                                  WORD("muon"), WORD("dist_muon"), {NULL, 0}};
static const struct ss_flag_choice muon_tp[] = {{"blockwise", SS_MUON_BLOCKWISE},
                                                {"duplicated", SS_MUON_DUPLICATED},
                                                {"distributed", SS_MUON_DISTRIBUTED},
                                                {NULL, 0}};
static const struct ss_flag_choice fp32[] = {WORD("fp32"), {NULL, 0}};
static const struct ss_flag_choice bf16[] = {WORD("bf16"), {NULL, 0}};
static const struct ss_flag_choice moment[] = {WORD("fp32"), WORD("bf16"), {NULL, 0}};
static const struct ss_flag_choice recipe[] = {{"delayed", SS_FP8_DELAYED},
                                               {"tensorwise", SS_FP8_TENSORWISE},
                                               {"blockwise", SS_FP8_BLOCKWISE},
                                               {"mxfp8", SS_FP8_MXFP8},
                                               {NULL, 0}};
static const struct ss_flag_choice fp4[] = {WORD("e2m1"), WORD("none"), {NULL, 0}};
static const struct ss_flag_choice fp4_recipe[] = {WORD("nvfp4"), {NULL, 0}};
static const struct ss_flag_choice graphs[] = {{"none", SS_GRAPHS_NONE},
                                               {"local", SS_GRAPHS_LOCAL},
                                               {"transformer_engine", SS_GRAPHS_TE},
                                               {"full_iteration", SS_GRAPHS_ITERATION},
                                               {NULL, 0}};
static const struct ss_flag_choice softmax[] = {
    {"vanilla", 0}, {"off-by-one", 0}, {"learnable", 1}, {NULL, 0}};

/* clang-format off */
const struct ss_flag_setter ss_flag_setters[] = {
    /* ---- stepsim's own ---- */
    OWN_TEXT("--platform", platform, "name in platforms/ or path of a SimGrid XML")
    OWN_INT("--nodes", nodes, 1, SS_MAX_GPUS, "nodes of the platform")
    OWN_INT("--gpus-per-node", gpus_per_node, 1, 1024, "uses this many GPUs of each node of a template; default all")
    OWN_INT("--cluster-nodes", cluster_nodes, 1, SS_MAX_GPUS, "nodes of the cluster, of which the job has some: --on-nodes, or the first ones")
    OWN_CALL("--on-nodes", '1', ss_flag_on_nodes, "RANGES: nodes of the cluster where the job is, in the order of its ranks: 0-3,8; the cluster has --cluster-nodes, or all up to the last of these")
    OWN_CALL("--failed-gpu", '1', ss_flag_failed_gpu, "NODE[:GPU],...: the node is left out, and a spare one behind the job's has its ranks")
    OWN_TEXT("--model", model_ref, "name in workloads/models, or path of a config.json or its folder")
    OWN_TEXT("--stack", stack, "name in workloads/stacks or path of a software profile")
    {"--set", '1', SS_FLAG_OWN, SS_FLAG_PROP, 0, 0, 0, NULL, NULL, "ss.PROP=VALUE: one value of the card or the stack; may be repeated"},
    {"--scale", '1', SS_FLAG_OWN, SS_FLAG_PROP, 0, 0, 0, NULL, NULL, "PROP=FACTOR: what files and --set say, times it, as nic.bandwidth=2x; PROP without \"ss.\", or peak, latency, launch; may be repeated"},
    OWN_CALL("--without", '1', ss_flag_without, "FLAG: takes a flag of the job away, with its values, where it stands before this; may be repeated")
    OWN_TEXT("--schedule", schedule, "auto, a name of `schedule list`, or a schedule file")
    {"--job", '1', SS_FLAG_OWN, SS_FLAG_CALL, 0, 0, 0, NULL, ss_flag_job, "file of flags; the command line beats it"},
    {"--launch", '1', SS_FLAG_OWN, SS_FLAG_CALL, 0, 0, 0, NULL, ss_flag_job, "launch script, its arguments behind it: runs it where it can change nothing, and takes the job that it starts"},
    {"--env", '1', SS_FLAG_OWN, SS_FLAG_CALL, 0, 0, 0, NULL, ss_flag_job, "NAME=VALUE: a variable of the script of --launch; may be repeated"},
    {"--call", '1', SS_FLAG_OWN, SS_FLAG_CALL, 0, 0, 0, NULL, ss_flag_job, "which of several jobs that the script of --launch starts, from 1"},
    {"--trust", '0', SS_FLAG_OWN, SS_FLAG_CALL, 0, 0, 0, NULL, ss_flag_job, "runs the script of --launch also where the kernel cannot keep it apart"},
    OWN_NUMBER("--spread", spread, 0, 10, "times the lasting spread of GPUs that the card has (ss.spread.*); default 1, 0: all are as fast")
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
    OWN_CALL("--gradient-accumulation-steps", '1', ss_flag_accumulation,
        "microbatches of a replica an iteration: --gbs is that times --mbs and data parallel size, on any number of nodes")
    OWN_INT("--seq", seq_length, 1, MAX_SIZE, "--seq-length")
    OWN_CALL_OF("--precision", '1', ss_flag_precision, precision, "fp32, fp16, bf16, fp8 (hybrid over bf16), mxfp8 (--fp8-recipe mxfp8) or nvfp4 (--fp4-format e2m1)")
    OWN_CALL_OF("--recompute", '1', ss_flag_recompute, recompute,
        "none, selective, full (uniform, 1 layer) or op-selective (torchtitan's, by operator)")
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
    OWN_SET("--cpu-offloading-weights", cpu_offload_weights, 1, "CPU offloading moves weights, too; without either flag as the stack has it")

    /* ---- parallel layout ---- */
    INT("--tensor-model-parallel-size", tp, 1, MAX_DEGREE, NULL)
    INT("--pipeline-model-parallel-size", pp, 1, MAX_DEGREE, NULL)
    INT("--context-parallel-size", cp, 1, MAX_DEGREE, NULL)
    INT("--expert-model-parallel-size", ep, 1, MAX_DEGREE, "above 1 only with experts")
    INT("--expert-tensor-parallel-size", etp, 1, MAX_DEGREE, "of experts alone; default --tensor-model-parallel-size")
    INT("--num-layers-per-virtual-pipeline-stage", layers_per_virtual_stage, 1, 100000, NULL)
    INT("--num-virtual-stages-per-pipeline-rank", virtual_stages, 1, 100000, NULL)
    INT("--microbatch-group-size-per-virtual-pipeline-stage", microbatch_group_size, 1, MAX_SIZE, NULL)
    INT("--decoder-first-pipeline-num-layers", first_stage_layers, 1, 100000, NULL)
    INT("--decoder-last-pipeline-num-layers", last_stage_layers, 1, 100000, NULL)
    SET("--account-for-embedding-in-pipeline-split", account_for_embedding, 1, "the first virtual stage has a layer less")
    SET("--account-for-loss-in-pipeline-split", account_for_loss, 1, "the last virtual stage has a layer less")
    CALL("--pipeline-model-parallel-layout", '1', ss_flag_layout,
        "E embedding, t layer, m MTP layer, L loss, | between virtual stages, *N and (...)*N: Et*3|(tt|)*30mL")
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
    CHOICE("--fp8-recipe", fp8_recipe, recipe, "scaling by history, by tensor, by 128 x 128 blocks, by blocks of 32")
    CALL_OF("--fp4-format", '1', ss_flag_fp4_format, fp4, "e2m1: linear layers multiply in nvfp4, forward and backward, or none")
    CALL_OF("--fp4-recipe", '1', ss_flag_fp4_recipe, fp4_recipe, "nvfp4: a scale for 16 elements")
    CALL("--fp4-param-gather", '0', ss_flag_fp4_param_gather, "as --fp8-param-gather, with --fp4-format e2m1")
    SET("--deterministic-mode", deterministic, 1, "rings of NCCL alone, flash attention's deterministic backward")
    CHOICE("--cuda-graph-impl", cuda_graphs, graphs, NULL)
    CALL("--cuda-graph-scope", '+', ss_flag_cuda_graph_scope,
        "full, full_iteration, attn, mlp, moe, moe_router, moe_preprocess (with moe_router): parts of a layer")
    CALL("--cuda-graph-modules", '+', ss_flag_cuda_graph_scope, "newer name of --cuda-graph-scope")
    SET("--enable-cuda-graph", cuda_graphs, SS_GRAPHS_LOCAL, "name of older releases: --cuda-graph-impl local")
    SET("--external-cuda-graph", cuda_graphs, SS_GRAPHS_TE, "name of older releases: --cuda-graph-impl transformer_engine")
    CHOICE("--attention-backend", attention, attention,
        "auto: flash in 16 bit or as the stack says, unfused in fp32")
    SET("--use-flash-attn", attention, SS_ATTENTION_FLASH, NULL)
    CHOICE("--transformer-impl", transformer_local, impl, "local: no fp8, no context parallelism, unfused attention unless another is named")
    NUMBER("--attention-dropout", attention_dropout, 0, 1, NULL)
    NUMBER("--hidden-dropout", hidden_dropout, 0, 1, NULL)

    /* ---- recompute ---- */
    CALL("--recompute-activations", '0', ss_flag_recompute_activations, NULL)
    CALL_OF("--recompute-granularity", '1', ss_flag_recompute_granularity, granularity, "selective or full")
    CHOICE("--recompute-method", recompute_method, method, NULL)
    INT("--recompute-num-layers", recompute_num_layers, 1, 100000, NULL)
    CALL("--recompute-modules", '+', ss_flag_recompute_modules,
        "core_attn (default of selective recompute) layernorm mla_up_proj mlp moe moe_act shared_experts")
    CALL("--moe-layer-recompute", '0', ss_flag_moe_recompute, "selective recompute with module moe")
    SET("--fine-grained-activation-offloading", fine_grained_offload, 1, "of --offload-modules")
    CALL("--offload-modules", '+', ss_flag_offload_modules,
        "attn_norm qkv_linear core_attn attn_proj mlp_norm expert_fc1 moe_act")
    INT("--min-offloaded-tensor-size", offload_least, 0, 1 << 30, "in elements; default 1048576")
    NUMBER("--activation-offload-fraction", offload_fraction, 0, 1, "of the layers of a chunk, the first ones, whole")
    INT("--fine-grained-offloading-max-inflight-offloads", offload_inflight, 0, 1 << 30,
        "0: compute waits for every copy; 1 or more: as by default")
    CALL("--checkpoint-activations", '0', ss_flag_checkpoint_activations,
        "name of older releases: full, uniform")
    CALL_OF("--activations-checkpoint-method", '1', ss_flag_checkpoint_method, method, "name of 2021: full recompute, so")
    INT("--activations-checkpoint-num-layers", recompute_num_layers, 1, 100000, "name of 2021")
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
    SET("--no-align-grad-reduce", align_grad_reduce, 0, "interleaved: stages begin on their own to reduce gradients")
    SET("--disable-align-grad-reduce", align_grad_reduce, 0, "--no-align-grad-reduce")
    SET("--no-delay-grad-reduce", align_grad_reduce, 0, "its name before Megatron core 0.9")
    SET("--accumulate-allreduce-grads-in-fp32", grad_reduce_fp32, 1, "bf16 implies it")
    SET("--grad-reduce-in-bf16", grad_reduce_bf16, 1, "beats --accumulate-allreduce-grads-in-fp32")
    NUMBER("--ddp-bucket-size", bucket_size, 1, 1e15, "in parameters")
    CALL("--cpu-offloading", '0', ss_flag_cpu_offloading,
        "needs --cpu-offloading-num-layers to move anything")
    INT("--cpu-offloading-num-layers", cpu_offload_layers, 0, 100000, NULL)
    CALL_OF("--optimizer", '1', ss_flag_optimizer, optimizer, "adam or muon; dist_muon is muon with --use-distributed-optimizer; hybridadam moves the optimizer to the host")
    INT("--muon-num-ns-steps", muon_steps, 1, 100, "default 5")
    CHOICE("--muon-tp-mode", muon_tp, muon_tp, "default blockwise")
    CALL("--muon-coefficient-type", '1', ss_flag_muon_coefficients, "they cost the same; cubic5 is refused")
    CALL("--muon-scalar-optimizer", '1', ss_flag_muon_scalar, "adam; lion is refused")
    CALL("--muon-fp32-matmul-prec", '1', ss_flag_muon_precision, "medium: in bf16; others are refused")
    SET("--muon-no-split-qkv", muon_joint_qkv, 1, NULL)
    CALL("--optimizer-cpu-offload", '0', ss_flag_optimizer_offload, NULL)
    CALL("--optimizer-offload-fraction", '1', ss_flag_optimizer_fraction, NULL)
    CALL("--optimizer-offload-policy", '1', ss_flag_optimizer_policy, "static only")
    CALL_OF("--main-grads-dtype", '1', ss_flag_fp32_only, fp32, "fp32 only")
    CALL_OF("--main-params-dtype", '1', ss_flag_fp32_only, fp32, "fp32 only")
    CALL_OF("--exp-avg-dtype", '1', ss_flag_exp_avg, moment, "bf16 with --use-precision-aware-optimizer, both moments alike")
    CALL_OF("--exp-avg-sq-dtype", '1', ss_flag_exp_avg_sq, moment, "likewise")
    SET("--use-precision-aware-optimizer", precision_aware, 1, "moments may be in bf16")
    SET("--no-check-for-nan-in-loss-and-grad", check_for_nan, 0, NULL)
    CALL("--clip-grad", '1', ss_flag_clip_grad, "0: neither gradient norm nor clipping")

    /* ---- shape ---- */
    INT("--num-layers", model.num_layers, 1, 100000, NULL)
    INT("--encoder-num-layers", model.num_layers, 1, 100000, "--num-layers")
    INT("--hidden-size", model.hidden_size, 1, 1 << 20, NULL)
    INT("--ffn-hidden-size", model.ffn_hidden_size, 1, 1 << 24,
        "default 4h, of a gated MLP but --quick-geglu's 8h/3 cut to a multiple of 64")
    INT("--intermediate-size", model.ffn_hidden_size, 1, 1 << 24, "Pai-Megatron-Patch's models: the same")
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
    CALL("--tokenizer-model", '1', ss_flag_tokenizer_model,
         "of HuggingFaceTokenizer, where no vocabulary is given: that of the model of this name in workloads/models")
    CALL("--merge-file", '1', ss_flag_merge_file, "without --tokenizer-type: GPT-2's, pretrain_gpt.py's default")
    INT("--max-position-embeddings", model.max_position_embeddings, 1, 1 << 30, NULL)
    CHOICE("--position-embedding-type", model.position, position,
        "yarn, or a config.json that says it: rope in operators of its own (latent attention: fused as ever)")
    SET("--use-rotary-position-embeddings", model.position, SS_POSITION_ROPE, NULL)
    SET("--use-llama2-rotary-position-embeddings", model.position, SS_POSITION_ROPE,
        "Pai-Megatron-Patch: the same")
    SET("--use-mistral-rotary-position-embeddings", model.position, SS_POSITION_ROPE,
        "Pai-Megatron-Patch: the same")
    SET("--enable-gpt-oss", model.position, SS_POSITION_YARN, "ModelOpt: --position-embedding-type yarn")
    SET("--no-position-embedding", no_position_embedding, 1, "only beside rope, which it says already")
    SET("--swiglu", model.gated_mlp, 1, NULL)
    CALL("--quick-geglu", '0', ss_flag_quick_geglu, NULL)
    CALL("--activation-func-clamp-value", '1', ss_flag_activation_clamp,
        "of experts: both halves of the activation's input are clamped and put together in operators of their own")
    SET("--untie-embeddings-and-output-weights", model.tied_embeddings, 0, NULL)
    SET("--disable-bias-linear", model.linear_bias, 0, NULL)
    SET("--add-qkv-bias", model.qkv_bias, 1, NULL)
    CHOICE("--normalization", model.normalization, norm, NULL)

    CHOICE("--softmax-type", model.attention_sinks, softmax, "learnable: a logit a head in the softmax's sum")
    SET("--qk-layernorm", model.qk_norm, SS_QK_NORM_HEAD, "norms of each head's queries and keys")
    CALL("--window-size", '1', ss_flag_window, "tokens before and behind a query, as 128,0")
    CALL("--window-attn-skip-freq", '1', ss_flag_window_skip_freq,
        "N: every N-th layer sees all tokens; or a list such as [1,1,0]*4, 1: by the window")
    SET("--multi-latent-attention", multi_latent, 1,
        "keys and values of rank 32 and heads of 128 + 64 and 128 where neither a flag nor the model says")
    INT("--q-lora-rank", model.q_lora_rank, 1, 1 << 20, "default: queries are not compressed")
    INT("--kv-lora-rank", model.kv_lora_rank, 1, 1 << 20, NULL)
    INT("--qk-head-dim", model.qk_head_dim, 1, 1 << 16, NULL)
    INT("--qk-pos-emb-head-dim", model.qk_pos_emb_head_dim, 1, 1 << 16, NULL)
    INT("--qk-nope-head-dim", model.qk_head_dim, 1, 1 << 16, "Pai-Megatron-Patch: --qk-head-dim")
    INT("--qk-rope-head-dim", model.qk_pos_emb_head_dim, 1, 1 << 16, "Pai-Megatron-Patch: --qk-pos-emb-head-dim")
    INT("--v-head-dim", model.v_head_dim, 1, 1 << 16, NULL)
    CALL("--mtp-num-layers", '1', ss_flag_mtp, "layers that predict further tokens, behind the last one, each with a loss")

    /* ---- experts ---- */
    INT("--num-experts", model.num_experts, 0, 1 << 16, NULL)
    INT("--moe-router-topk", model.top_k, 1, 1 << 16, "default 2")
    INT("--moe-topk", model.top_k, 1, 1 << 16, "name of older releases")
    INT("--moe-ffn-hidden-size", model.moe_ffn_hidden_size, 1, 1 << 24, "of one expert; default --ffn-hidden-size")
    INT("--moe-shared-expert-intermediate-size", model.shared_expert_ffn_hidden_size, 1, 1 << 24,
        "of all shared experts together")
    SET("--moe-shared-expert-gate", model.shared_expert_gate, 1, NULL)
    CALL("--moe-layer-freq", '1', ss_flag_moe_layer_freq, "N: every N-th layer from the first; or a list such as ([0]*3+[1]*58)")
    INT("--moe-router-num-groups", model.router_groups, 1, 1 << 16, NULL)
    INT("--moe-router-group-topk", model.router_group_topk, 1, 1 << 16, "a token's experts are in so many groups")
    SET("--moe-router-enable-expert-bias", model.router_bias, 1, NULL)
    CALL_OF("--moe-router-score-function", '1', ss_flag_score_function, ss_flag_score_functions, "they cost the same")
    CALL_OF("--moe-router-load-balancing-type", '+', ss_flag_balancing, ss_flag_balancings, "they cost the same; sinkhorn is refused")
    NUMBER("--moe-input-jitter-eps", input_jitter, 0, 1, "noise on the router's input; 0: none")
    CHOICE("--moe-router-dtype", router_dtype, router_dtype, "of the router's GEMM and its output; default as the hidden state; fp64 is priced as fp32")
    CALL("--moe-router-force-load-balancing", '0', ss_flag_force_balancing, "--moe-load uniform: random logits")
    CALL("--moe-router-force-biased", '1', ss_flag_force_biased, "--moe-load biased:SIGMA")
    OWN_CALL("--moe-load", '1', ss_flag_load,
        "tokens of each expert: balanced, uniform, biased:SIGMA, zipf:EXPONENT, a file, or a workload:" SS_MOE_WORKLOADS)
    CALL_OF("--moe-token-dispatcher-type", '1', ss_flag_dispatcher, ss_flag_dispatchers,
        "default as the stack says (ss.default.dispatcher)")
    CALL_OF("--moe-flex-dispatcher-backend", '1', ss_flag_backend, ss_flag_backends, "of flex; default deepep")
    CALL("--moe-enable-deepep", '0', ss_flag_enable_deepep, "--moe-flex-dispatcher-backend deepep")
    INT("--moe-flex-dispatcher-num-sms", dispatch_sms, 1, 1024, "SMs that deepep or hybridep take")
    INT("--moe-deepep-num-sms", dispatch_sms, 1, 1024, "--moe-flex-dispatcher-num-sms")
    INT("--moe-hybridep-num-sms", dispatch_sms, 1, 1024, "--moe-flex-dispatcher-num-sms")
    CALL_OF("--moe-dispatch-fwd-dtype", '1', ss_flag_bf16_only, bf16, "bf16 only")
    CALL_OF("--moe-combine-bwd-dtype", '1', ss_flag_bf16_only, bf16, "bf16 only")
    OWN_SET("--fp8-dot-product-attention", fp8_attention, 1, "core attention in mxfp8, Megatron core's fp8_dot_product_attention")
    OWN_SET("--fp8-dispatch", fp8_dispatch, 1, "tokens are sent to their experts in fp8, as DeepSeek-V3 does")
    CALL("--moe-expert-capacity-factor", '1', ss_flag_capacity, "an expert's tokens over its even share are dropped; below 0: none")
    SET("--moe-pad-expert-input-to-capacity", pad_to_capacity, 1, NULL)
    SET("--moe-router-padding-for-fp8", pad_for_fp8, 1, "an expert's tokens are filled up to what fp8 takes")
    SET("--moe-router-padding-for-quantization", pad_for_fp8, 1, "the same")
    SET("--moe-router-fusion", router_fusion, 1, NULL)
    SET("--moe-permute-fusion", permute_fusion, 1, NULL)
    SET("--moe-grouped-gemm", grouped_gemm, 1, "all experts of a rank at once; else one after the other")
    SET("--use-transformer-engine-op-fuser", op_fuser, 1,
        "of gated experts in mxfp8: activation, casts and biases in grouped GEMMs of one kernel; else the stack says what is fused")
    SET("--moe-shared-expert-overlap", shared_expert_overlap, 1, NULL)
    SET("--overlap-moe-expert-parallel-comm", overlap_ep, 1, NULL)
    SET("--delay-wgrad-compute", delay_wgrad, 1, NULL)

    /* ---- packed sequences ---- */
    OWN_CALL("--packed-lengths", '1', ss_flag_packed_lengths,
        "lengths of the documents that share a row: fixed:TOKENS, uniform:LOW:HIGH, lognormal:MEAN:SIGMA, or a file")
    OWN_CHOICE("--packed-algorithm", packed_algorithm, packed_algorithm, "which of them share a row; default first_fit_shuffle")
    OWN_INT("--packed-multiple", packed_multiple, 1, 1 << 20, "tokens to a multiple of which each is padded; default 2 CP, without CP 1")
    OWN_INT("--packed-seed", packed_seed, 0, 2147483647, "of lengths and order; default 0")
    SET("--sft", sft, 1, "rows of several documents, whose lengths --packed-lengths says")
    SET("--dataloader-inter-document-masking", document_masking, 1, "the same in pretraining")
    SET("--reset-attention-mask", reset_attention_mask, 1, "a dense mask: attention runs over the whole row")
    SET("--reset-position-ids", reset_position_ids, 1, NULL)
    {NULL, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL},
};
/* clang-format on */

/* SPDX-License-Identifier: Apache-2.0 */
/* One training job in Megatron-LM's own words (core 0.8 and Megatron-LM 240718; docs/reference/flags.md). */
#ifndef STEPSIM_JOB_H
#define STEPSIM_JOB_H

#include "stepsim/error.h"
#include "stepsim/model.h"
#include "stepsim/notes.h"
#include "stepsim/request.h"
#include "stepsim/stack.h"
#include "stepsim/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ss_attention { SS_ATTENTION_AUTO, SS_ATTENTION_FLASH, SS_ATTENTION_FUSED, SS_ATTENTION_UNFUSED };
enum ss_recompute { SS_RECOMPUTE_NONE, SS_RECOMPUTE_SELECTIVE, SS_RECOMPUTE_FULL };
enum ss_recompute_method { SS_RECOMPUTE_UNIFORM, SS_RECOMPUTE_BLOCK };
/* What is sharded over the (inner) data-parallel group. */
enum ss_sharding { SS_SHARD_NONE, SS_SHARD_OPTIM, SS_SHARD_OPTIM_GRADS, SS_SHARD_OPTIM_GRADS_PARAMS };
/* What selective recompute repeats before the backward, a bit each; Megatron's words of --recompute-modules. */
#define SS_RECOMPUTE_MODULE_LIST(X)                                                                          \
    X(CORE_ATTN, "core_attn")                                                                                \
    X(LAYERNORM, "layernorm")                                                                                \
    X(MLA_UP_PROJ, "mla_up_proj")                                                                            \
    X(MLP, "mlp") /* of dense layers */                                                                      \
    X(MOE, "moe") /* all of a mixture: router, exchange, experts */                                          \
    X(MOE_ACT, "moe_act")                                                                                    \
    X(SHARED_EXPERTS, "shared_experts")
enum ss_recompute_module_index {
#define X(sym, word) SS_MODULE_##sym,
    SS_RECOMPUTE_MODULE_LIST(X)
#undef X
        SS_MODULE_COUNT
};
#define SS_MODULE_BIT(module) (1u << (module))
/* A bit beyond Megatron's words: torchtitan's recompute by operator, which keeps what attention, collectives and every second
 * linear layer give and repeats all else of a layer. */
#define SS_MODULE_OPERATORS SS_MODULE_COUNT
/* Whose saved inputs go to the host, a bit each; Megatron's words of --offload-modules. */
#define SS_OFFLOAD_MODULE_LIST(X)                                                                            \
    X(ATTN_NORM, "attn_norm")                                                                                \
    X(QKV_LINEAR, "qkv_linear")                                                                              \
    X(CORE_ATTN, "core_attn")                                                                                \
    X(ATTN_PROJ, "attn_proj")                                                                                \
    X(MLP_NORM, "mlp_norm")                                                                                  \
    X(EXPERT_FC1, "expert_fc1")                                                                              \
    X(MOE_ACT, "moe_act")
enum ss_offload_module_index {
#define X(sym, word) SS_OFFLOAD_##sym,
    SS_OFFLOAD_MODULE_LIST(X)
#undef X
        SS_OFFLOAD_COUNT
};
#define SS_OFFLOAD_BIT(module) (1u << (module))
/* How kernels are issued as CUDA graphs: the parts that --cuda-graph-scope names, by Megatron-LM itself or by Transformer Engine;
 * the whole iteration. */
enum ss_graph_impl { SS_GRAPHS_NONE, SS_GRAPHS_LOCAL, SS_GRAPHS_TE, SS_GRAPHS_ITERATION };
/* How tokens get to their experts: gathered from all ranks; all-to-all of NCCL; DeepEP's or HybridEP's two stages, which send
 * a token to a node once. */
enum ss_dispatcher { SS_DISPATCH_ALLGATHER, SS_DISPATCH_ALLTOALL, SS_DISPATCH_DEEPEP, SS_DISPATCH_HYBRIDEP };
/* How tokens are spread over the experts (cost/load.h). */
enum ss_moe_load {
    SS_LOAD_BALANCED, /* every expert as many */
    SS_LOAD_UNIFORM,  /* drawn at random, every expert as likely: --moe-router-force-load-balancing */
    SS_LOAD_BIASED,   /* random logits with a bias an expert: --moe-router-force-biased */
    SS_LOAD_ZIPF,     /* the i-th of the experts as likely as i^-exponent */
    SS_LOAD_FILE,     /* loads by layer and expert */
    SS_LOAD_WORKLOAD  /* a named one, as W1_hot_expert_set */
};
/* The workloads of SS_LOAD_WORKLOAD: those of NVIDIA/Megatron-LM's pull request 7488. X(symbol, name) */
#define SS_MOE_WORKLOAD_LIST(X)                                                                              \
    X(BALANCED, "W0_balanced")                                                                               \
    X(HOT_EXPERT_SET, "W1_hot_expert_set")                                                                   \
    X(HOT_RANK, "W2_hot_rank")                                                                               \
    X(SPREAD_HOT_EXPERTS, "W3_spread_hot_experts")                                                           \
    X(SOURCE_RAGGED, "W4_source_ragged")                                                                     \
    X(ZERO_EXPERT_RANK, "W5_zero_expert_rank")                                                               \
    X(ROTATING_HOTSPOT, "W6_rotating_hotspot")                                                               \
    X(BURST, "W7_burst")
/* Their names, a blank before each. */
#define SS_MOE_WORKLOAD_NAME(symbol, name) " " name
#define SS_MOE_WORKLOADS SS_MOE_WORKLOAD_LIST(SS_MOE_WORKLOAD_NAME)
/* How long the documents are that share the rows of a microbatch (docs/reference/model.md, "Packed sequences"). */
enum ss_packed_law {
    SS_PACKED_NONE,      /* a row is one document */
    SS_PACKED_FIXED,     /* all as long */
    SS_PACKED_UNIFORM,   /* every length between two as likely */
    SS_PACKED_LOGNORMAL, /* of a mean, and a standard deviation of the logarithm */
    SS_PACKED_FILE       /* lengths and how often each is there */
};
/* Which document goes to which row: to the first one with room, in a random order or the longest first; or the next row
 * begins where one does not fit. */
enum ss_packed_algorithm { SS_PACKED_SHUFFLE, SS_PACKED_DECREASING, SS_PACKED_IN_ORDER };
/* Parts of a layer that CUDA graphs may hold: attention with its norms, router with the counts, the dense MLP and shared
 * experts. */
enum ss_graph_part { SS_GRAPH_ATTN = 1, SS_GRAPH_ROUTER = 2, SS_GRAPH_MLP = 4 };
/* Words of --cuda-graph-scope, a set until ss_job_finish. */
enum ss_graph_word {
    SS_GRAPH_WORD_FULL = 1,
    SS_GRAPH_WORD_ITERATION = 2,
    SS_GRAPH_WORD_ATTN = 4,
    SS_GRAPH_WORD_MLP = 8,
    SS_GRAPH_WORD_MOE = 16,
    SS_GRAPH_WORD_ROUTER = 32,
    SS_GRAPH_WORD_PREPROCESS = 64
};
/* Scaling of fp8: per tensor by history or by its largest value, 128 x 128 blocks, blocks of 32. */
enum ss_fp8_recipe { SS_FP8_DELAYED, SS_FP8_TENSORWISE, SS_FP8_BLOCKWISE, SS_FP8_MXFP8 };
/* SS_OPTIMIZER_DIST_MUON until finish: Muon with the distributed optimizer. */
enum ss_optimizer { SS_OPTIMIZER_ADAM, SS_OPTIMIZER_MUON, SS_OPTIMIZER_DIST_MUON };
/* What Muon makes orthogonal where tensor ranks share a matrix: each its part; the matrix, gathered and whole on each; the matrix
 * in parts, whose products are summed over the ranks. */
enum ss_muon_tp { SS_MUON_BLOCKWISE, SS_MUON_DUPLICATED, SS_MUON_DISTRIBUTED };
/* Layers of each virtual stage by --pipeline-model-parallel-layout; n 0: not given. */
#define SS_LAYOUT_MAX 512
struct ss_pipeline_layout {
    int n;
    short layers[SS_LAYOUT_MAX]; /* [virtual stage], transformer layers; MTP's are behind the last one */
};
enum ss_cp_comm { SS_CP_P2P, SS_CP_A2A, SS_CP_ALLGATHER, SS_CP_A2A_P2P };

struct ss_packing;

/* A node with a GPU that has failed, from 0; gpu -1: which one is not said. */
#define SS_MAX_FAILED 64
struct ss_failed_gpu {
    int node, gpu;
};

/* Nodes of a cluster, from 0. */
#define SS_MAX_NODE_RANGES 64
struct ss_node_range {
    int first, last;
};

/* Degrees and sizes are >= 1 where not said otherwise; flags are 0 or 1. */
struct ss_job {
    /* where; filled from --platform, --nodes, --gpus-per-node, --model, --stack by the reader */
    char platform[256]; /* name or path, "" = not given */
    char model_ref[256];
    char stack[256];
    int nodes, gpus_per_node; /* 0 = as the platform says; fewer GPUs are the first ones of each node */
    /* One a node: the i-th node's ranks are on the i-th of as many spare nodes, which are the platform's last ones. */
    int nfailed;
    struct ss_failed_gpu failed[SS_MAX_FAILED];
    /* The job is on some of the nodes of a larger cluster: --cluster-nodes, 0 = not given, and --on-nodes, in the order of its
     * ranks; 0 ranges: the first ones. */
    int cluster_nodes, nranges;
    struct ss_node_range on_nodes[SS_MAX_NODE_RANGES];

    int tp, pp, cp, ep, etp;      /* etp 0 = tp */
    int layers_per_virtual_stage; /* 0 = not given */
    /* stages per rank (--num-virtual-stages-per-pipeline-rank), 0 = not given */
    int virtual_stages;
    int microbatch_group_size;                 /* --microbatch-group-size-per-vp-stage, 0 = pp */
    int first_stage_layers, last_stage_layers; /* --decoder-first/last-pipeline-num-layers, 0 = not given */
    /* count as a layer each when layers are split over the stages */
    int account_for_embedding, account_for_loss;
    char rank_order[32]; /* "tp-cp-ep-dp-pp" */

    int micro_batch, global_batch, seq_length;
    int accumulation; /* microbatches of a replica an iteration, which make the global batch where it is 0; 0: one */
    int precision; /* enum ss_precision; fp8 = hybrid over bf16 (or fp16) storage */
    int fp8_base;  /* storage precision under fp8: SS_BF16 or SS_FP16 */
    int fp8_param_gather;
    int attention; /* enum ss_attention */
    int sequence_parallel;
    int tp_comm_overlap;
    int cp_comm_type; /* enum ss_cp_comm; -1: as the stack says, until ss_job_finish */
    double attention_dropout, hidden_dropout; /* -1 until finish when not given */

    int dispatcher;         /* enum ss_dispatcher, -1 until finish: as the stack says */
    double capacity_factor; /* an expert takes so many times its even share, more are dropped; 0: dropless */
    int pad_to_capacity;    /* and is filled up to it */
    int router_fusion;      /* --moe-router-fusion */
    double input_jitter;    /* --moe-input-jitter-eps, 0: none */
    int router_dtype;       /* --moe-router-dtype: 0 as the hidden state, 1 fp32, 2 fp64 */
    int permute_fusion;     /* --moe-permute-fusion; -1 until finish: as the stack says */
    int grouped_gemm;       /* --moe-grouped-gemm, likewise; 0: an expert after the other */
    int shared_expert_overlap; /* --moe-shared-expert-overlap */
    int overlap_ep;            /* --overlap-moe-expert-parallel-comm: beside another microbatch's compute */
    int delay_wgrad;           /* --delay-wgrad-compute */
    int op_fuser;              /* --use-transformer-engine-op-fuser */
    int pad_for_fp8;           /* --moe-router-padding-for-fp8 (-quantization) */
    int dispatch_sms;          /* SMs that DeepEP or HybridEP take, 0: 20 or 16 */
    int fp8_attention;         /* 1: core attention in mxfp8 (fp8_dot_product_attention) */
    int fp8_dispatch;          /* 1: tokens are dispatched in fp8 (DeepSeek-V3) */
    int moe_load;              /* enum ss_moe_load */
    double moe_load_exponent;  /* of SS_LOAD_ZIPF; the standard deviation of SS_LOAD_BIASED's bias */
    char moe_load_source[256]; /* file of SS_LOAD_FILE, name of SS_LOAD_WORKLOAD */
    int fp8_recipe;            /* enum ss_fp8_recipe */
    int cuda_graphs;           /* enum ss_graph_impl */
    int deterministic;    /* --deterministic-mode: collectives by rings, flash attention's slower backward */
    unsigned graph_scope; /* parts of a layer that they hold, a set of enum ss_graph_part; 0: all */
    unsigned graph_words; /* as they were given, a set of enum ss_graph_word, until ss_job_finish */
    int optimizer;        /* enum ss_optimizer */
    int muon_steps;       /* --muon-num-ns-steps: iterations of Newton-Schulz, 5 */
    int muon_tp;          /* enum ss_muon_tp */
    int muon_joint_qkv;   /* --muon-no-split-qkv: queries, keys and values as one matrix */
    int bf16_moments;     /* 1: Adam's moments in 2 bytes each (--exp-avg-dtype bf16) */

    /* packed sequences */
    int packed_law;                 /* enum ss_packed_law */
    double packed_low, packed_high; /* its numbers: length; shortest, longest; mean, sigma */
    char packed_source[256];        /* file of SS_PACKED_FILE */
    int packed_algorithm;           /* enum ss_packed_algorithm */
    int packed_multiple;            /* documents are padded to a multiple of it; 0 until finish: not given */
    int packed_seed;                /* of draws and of the random order */
    /* the rows, where packed_law is not SS_PACKED_NONE: the scenario's, NULL before it is built */
    const struct ss_packing *packing;

    struct ss_pipeline_layout layout;
    /* Loads of SS_LOAD_FILE, [moe_load_layers][experts]: the scenario's, NULL before it is built. */
    const double *moe_loads;
    int moe_load_layers;
    int layout_mtp, layout_mtp_apart; /* MTP layers that the layout names; 1: in a stage before the loss */
    /* what flags said, until finish */
    int dispatcher_flex, enable_deepep; /* --moe-token-dispatcher-type flex; --moe-enable-deepep */
    int flex_backend;                   /* enum ss_dispatcher, -1: none named */
    int multi_latent;                   /* --multi-latent-attention */
    int window_given, window_skip_freq; /* --window-size; --window-attn-skip-freq N, 0: none or a list */
    int mtp_given;                      /* --mtp-num-layers, which may be 0 where the model has some */
    int modules_given;                  /* --recompute-modules */
    int graph_scope_given;              /* --cuda-graph-scope */
    int fp4_recipe_given;               /* --fp4-recipe */
    int fp4_param_gather;               /* --fp4-param-gather, which is fp8_param_gather of a job in nvfp4 */
    int precision_mxfp8;                /* 1: the recipe is that of --precision mxfp8 */
    int exp_avg_bf16, exp_avg_sq_bf16,
        precision_aware;      /* --exp-avg(-sq)-dtype, --use-precision-aware-optimizer */
    int fine_grained_offload; /* --fine-grained-activation-offloading */
    int sft, reset_attention_mask, reset_position_ids; /* Megatron's flags of these names */
    int document_masking;                              /* --dataloader-inter-document-masking */

    int recompute;              /* enum ss_recompute */
    unsigned recompute_modules; /* set of SS_MODULE_BIT, with SS_RECOMPUTE_SELECTIVE */
    unsigned offload_modules;   /* set of SS_OFFLOAD_BIT, 0: none */
    int offload_least;          /* --min-offloaded-tensor-size, in elements */
    int offload_inflight;       /* copies of a module under way at most, -1: any number */
    int recompute_method;       /* enum ss_recompute_method, -1 = not given */
    int recompute_num_layers;   /* 0 = not given */
    int checkpoint_activations; /* asked for by the name that Megatron core refuses */
    /* 1: --recompute full, whose method is uniform and whose layers are 1 where no flag says; until finish */
    int recompute_short;

    int distributed_optimizer; /* ZeRO-1 */
    int sharding;              /* enum ss_sharding: FSDP when > SS_SHARD_OPTIM, with use_fsdp */
    int outer_sharding;        /* over the replicas of the inner group */
    int fsdp;                  /* 1: Megatron-FSDP or NeMo's fsdp=True rules the layout */
    int fsdp2;                 /* 1: by PyTorch's FSDP2, --use-torch-fsdp2 */
    int fsdp_hybrid;           /* 1: the inner group is one node */
    int overlap_grad_reduce, overlap_param_gather;
    int align_grad_reduce;  /* 0 after --no-align-grad-reduce */
    int overlap_p2p;        /* 0 after --no-overlap-p2p-communication */
    int scatter_gather;     /* 0 after --no-scatter-gather-tensors-in-pipeline */
    int grad_reduce_fp32;   /* --accumulate-allreduce-grads-in-fp32 (bf16 implies it); -1 = not given */
    int grad_reduce_bf16;   /* --grad-reduce-in-bf16, which beats it */
    double bucket_size;     /* --ddp-bucket-size in parameters, 0 = Megatron's default */
    int cpu_offload_layers; /* --cpu-offloading-num-layers, 0 = off; -1 = --cpu-offloading alone */
    int cpu_offload_activations, cpu_offload_weights; /* the latter -1: as the stack has it */
    double optimizer_offload;  /* fraction of optimizer states and step on the host, 0 = off */
    double optimizer_fraction; /* --optimizer-offload-fraction, until finish; -1 = not given */
    double
        offload_fraction; /* --activation-offload-fraction: part of the layers of a chunk, the first ones */
    int check_for_nan;
    int clip_grad; /* 0 after --clip-grad 0: no gradient norm */

    int transformer_local; /* --transformer-impl local: no Transformer Engine */
    int tokenizer_vocab; /* rows of a tokenizer known by name, for jobs that name no vocabulary; -1: not known */
    int null_tokenizer;     /* adds a row, for the end of a document, to a --vocab-size */
    int padded_vocab;       /* the vocabulary was given with its padding */
    int vocab_divisible_by; /* --make-vocab-size-divisible-by, 128 */
    int group_query_attention, no_position_embedding,
        quick_geglu;       /* flags that complete or check the model */
    struct ss_model model; /* complete after ss_job_finish */
    double spread;         /* --spread: times the lasting spread of GPUs, 0: none */
    char schedule[256];    /* "auto", a schedule name, or later a file */
    double measured_ms;    /* --measured, 0 = not given */
    double measured_mib;   /* --measured-memory, 0 = not given */
    char unmodelled[64];   /* the first flag whose gain or cost is not known, with its "--"; "" = none */
};

/* Makes a job of which nothing is given. It holds no memory and needs no free. */
void ss_job_init(struct ss_job *job);
/* Reads the words of a request into a job that ss_job_init made; it changes only when all of them are right. What
 * `--set` and `--scale` say is checked and else not looked at; `--without` is for a scenario. `notes` gets what was assumed or is not
 * modelled, `ignored` the names of flags without effect on time or memory; each may be NULL. */
int ss_job_parse(struct ss_job *job, const struct ss_request *r, struct ss_notes *notes,
                 struct ss_notes *ignored, struct ss_error *err);
/* Whether a flag without value, given behind all words of the request, would leave the job as it is; 0 where the words are
 * wrong. */
int ss_job_lacks_effect(const struct ss_request *r, const char *flag);
/* Completes defaults from model and stack and refuses what Megatron or NeMo refuse, with their
 * words as the cause. `world_size` is nodes x GPUs; `gpus_per_node` for the hybrid group; an error names the place in
 * the request, which may be NULL, that it comes from. */
int ss_job_finish(struct ss_job *job, const struct ss_request *r, const struct ss_stack *stack,
                  int world_size, int gpus_per_node, struct ss_notes *notes, struct ss_error *err);
/* Returns the ranks of a job on a platform of so many nodes of so many GPUs, spare nodes among them. */
int ss_job_world_size(const struct ss_job *job, int nodes, int gpus_per_node);
/* Returns 1 when the job is on some of the nodes of a cluster. */
int ss_job_is_placed(const struct ss_job *job);
/* Returns how many nodes --on-nodes names, 0: it is not given; *last, which may be NULL, is the highest of them. */
int ss_job_named_nodes(const struct ss_job *job, int *last);
/* Returns the node of the cluster that is the i-th of a job that is placed. */
int ss_job_node(const struct ss_job *job, int i);
/* Writes the first `nodes` of them as --on-nodes names them, "0-3,8"; what does not fit into size bytes is cut. */
void ss_job_nodes_text(const struct ss_job *job, int nodes, char *out, size_t size);
/* Returns the data-parallel degree of a finished job: world size / (tp pp cp). */
int ss_job_dp(const struct ss_job *job, int world_size);
/* Returns the bytes of an element of what linear layers multiply, with its share of the scales of its block: 1 in fp8, 1 + 1/32 in
 * mxfp8, 1/2 + 1/16 in nvfp4, and 1 where they multiply values of 16 bit or more. */
double ss_job_quantized_bytes(const struct ss_job *job);
/* Returns the microbatches of each pipeline in an iteration of a finished job: global batch / (micro batch x dp). */
int ss_job_microbatches(const struct ss_job *job, int world_size);
/* Returns the layers that are split over the stages: the model's, and embedding and loss where each counts as one. */
int ss_job_split_layers(const struct ss_job *job);
/* Whether the job says the layers of a stage itself: by a layout, or of the first or the last one. */
int ss_job_has_stage_layers(const struct ss_job *job);
/* Returns 1 when context parallelism passes K and V round a ring beside attention, 0 when a collective moves them that nothing
 * hides. */
int ss_job_cp_in_ring(const struct ss_job *job);
/* Returns the modules that selective recompute repeats (a set of SS_MODULE_BIT), 0 without it; core attention where the
 * job names none. */
unsigned ss_job_redone_modules(const struct ss_job *job);
/* Returns 1 when the last stage has a copy of the embedding: as its output layer where they are tied, for multi-token
 * prediction, or for both. Its gradients are added to those of the first stage. */
int ss_job_copies_embedding(const struct ss_job *job);
/* Returns 1 for the dispatchers that send a token to a node once, and hand it on there: DeepEP's and HybridEP's. */
int ss_dispatcher_has_stages(int dispatcher);
/* Returns 1 when parameters are sharded inside each node and every node holds a copy. */
int ss_job_is_hybrid(const struct ss_job *job);
/* Returns 1 when gradients and states of routed experts are divided over other ranks than those of all other parameters. */
int ss_job_experts_apart(const struct ss_job *job);
/* Returns 1 when PyTorch's linear layers work in bf16 by autocast on fp32 parameters that are not sharded (ss.default.fp32_params). */
int ss_job_autocasts(const struct ss_job *job, const struct ss_stack *stack);
/* Returns who reduces the largest values of fp8 tensors behind every slot: 1 tensor and context ranks, 2 those of all replicas, 0 nobody
 * (another precision or recipe, or a stack that does not). */
int ss_job_reduces_amax(const struct ss_job *job, const struct ss_stack *stack);
/* Returns 1 when pipeline transfers run beside compute where the schedule lets them: not under Megatron's non-interleaved
 * schedule, nor in old releases. */
int ss_job_overlaps_p2p(const struct ss_job *job, const struct ss_stack *stack);
/* Returns the word of a flag for one of its values: ss_job_word("--recompute", SS_RECOMPUTE_FULL) is "full"; "unknown" where the
 * flag has no such value. Never NULL. */
const char *ss_job_word(const char *flag, int value);
/* Returns the model chunks of a rank, 1 where stages are not interleaved. */
int ss_job_chunks(const struct ss_job *job);

#ifdef __cplusplus
}
#endif
#endif

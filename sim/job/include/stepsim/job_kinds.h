/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a job's fields: the words of its flags as enums and sets. */
#pragma once

#include "stepsim/error.h"

SS_C_BEGIN

/* Only a flag says AUTO; a finished job has one of the others. */
enum ss_attention { SS_ATTENTION_AUTO, SS_ATTENTION_FLASH, SS_ATTENTION_FUSED, SS_ATTENTION_UNFUSED };
enum ss_recompute { SS_RECOMPUTE_NONE, SS_RECOMPUTE_SELECTIVE, SS_RECOMPUTE_FULL };
enum ss_recompute_method { SS_RECOMPUTE_UNIFORM, SS_RECOMPUTE_BLOCK };
/* Kernels of sparse attention, and the keys that the loss of its indexer is over. */
enum ss_dsa_kernels { SS_DSA_CUDNN, SS_DSA_TILELANG };
enum ss_index_loss { SS_INDEX_LOSS_NONE, SS_INDEX_LOSS_ALL, SS_INDEX_LOSS_CHOSEN };
/* What is sharded over the (inner) data-parallel group. */
/* What averages gradients over the ranks that reduce them: what the stack says, their reduction, or a pass over them. */
enum ss_gradient_average { SS_AVERAGE_OF_STACK, SS_AVERAGE_REDUCED, SS_AVERAGE_PASS };
enum ss_sharding { SS_SHARD_NONE, SS_SHARD_OPTIM, SS_SHARD_OPTIM_GRADS, SS_SHARD_OPTIM_GRADS_PARAMS };
/* What selective recompute repeats before the backward, a bit each; Megatron's words of --recompute-modules. */
#define SS_RECOMPUTE_MODULE_LIST(X)                                                                          \
    X(CORE_ATTN, "core_attn")                                                                                \
    X(LAYERNORM, "layernorm")                                                                                \
    X(MLA_UP_PROJ, "mla_up_proj")                                                                            \
    X(MLP, "mlp") /* of dense layers */                                                                      \
    X(MOE, "moe") /* all of a mixture: router, exchange, experts */                                          \
    X(MOE_ACT, "moe_act")                                                                                    \
    X(SHARED_EXPERTS, "shared_experts")                                                                      \
    X(GDN_NORM_OUT, "gdn_norm_out") /* the gated norm of a gated delta net */                                \
    X(MHC, "mhc")                   /* hyper-connections, and the norms behind them */
enum ss_recompute_module_index {
#define X(sym, word) SS_MODULE_##sym,
    SS_RECOMPUTE_MODULE_LIST(X)
#undef X
        SS_MODULE_COUNT
};
#define SS_MODULE_BIT(module) (1u << (module))
/* A bit beyond Megatron's words: torchtitan's recompute by operator. It keeps the outputs of attention,
 * collectives and every second linear layer, and repeats everything else of a layer. */
#define SS_MODULE_OPERATORS SS_MODULE_COUNT
enum ss_offload_device { SS_OFFLOAD_NOWHERE, SS_OFFLOAD_CPU, SS_OFFLOAD_NVME };
/* The modules whose saved inputs go to the host, a bit each; Megatron's words of --offload-modules. */
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
/* How kernels are issued as CUDA graphs: the parts that --cuda-graph-scope names, by Megatron-LM itself or by
 * Transformer Engine; or the whole iteration. */
enum ss_graph_impl { SS_GRAPHS_NONE, SS_GRAPHS_LOCAL, SS_GRAPHS_TE, SS_GRAPHS_ITERATION };
/* How tokens reach their experts: gathered from all ranks; by NCCL's all-to-all; by the two stages of DeepEP
 * or HybridEP, which send a token to a node once. */
enum ss_dispatcher { SS_DISPATCH_ALLGATHER, SS_DISPATCH_ALLTOALL, SS_DISPATCH_DEEPEP, SS_DISPATCH_HYBRIDEP };
/* How tokens are spread over the experts (cost/load.h). */
enum ss_moe_load {
    SS_LOAD_BALANCED, /* every expert gets equally many */
    SS_LOAD_UNIFORM,  /* drawn at random, every expert equally likely: --moe-router-force-load-balancing */
    SS_LOAD_BIASED,   /* random logits with a bias an expert: --moe-router-force-biased */
    SS_LOAD_ZIPF,     /* the i-th expert has a probability in proportion to i^-exponent */
    SS_LOAD_FILE,     /* loads by layer and expert */
    SS_LOAD_WORKLOAD  /* a named workload, "W1_hot_expert_set" */
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
/* The names of the workloads, a blank before each. */
#define SS_MOE_WORKLOAD_NAME(symbol, name) " " name
#define SS_MOE_WORKLOADS SS_MOE_WORKLOAD_LIST(SS_MOE_WORKLOAD_NAME)
/* Law of the lengths of the documents that share the rows of a microbatch (docs/reference/model.md, "Packed
 * sequences"). */
enum ss_packed_law {
    SS_PACKED_NONE,      /* a row is one document */
    SS_PACKED_FIXED,     /* all are equally long */
    SS_PACKED_UNIFORM,   /* every length between two limits is equally likely */
    SS_PACKED_LOGNORMAL, /* log-normal: a mean, and the standard deviation of the logarithm */
    SS_PACKED_FILE       /* lengths, and how often each occurs */
};
/* How documents are put into rows: into the first row with room, in a random order or the longest first; or
 * in order, where the next row begins when a document does not fit. */
enum ss_packed_algorithm { SS_PACKED_SHUFFLE, SS_PACKED_DECREASING, SS_PACKED_IN_ORDER };
/* Parts of a layer that CUDA graphs may hold: attention with its norms, router with the counts, the dense MLP and shared
 * experts, layers of Mamba; the permutation behind the router belongs to it. */
enum ss_graph_part {
    SS_GRAPH_ATTN = 1,
    SS_GRAPH_ROUTER = 2,
    SS_GRAPH_MLP = 4,
    SS_GRAPH_MAMBA = 8,
    SS_GRAPH_PREPROCESS = 16
};
enum ss_optimizer { SS_OPTIMIZER_ADAM, SS_OPTIMIZER_MUON };
/* What Muon makes orthogonal where tensor ranks share a matrix: the part of each rank; the whole matrix,
 * gathered on each rank; or the matrix in parts, whose products are summed over the ranks. */
enum ss_muon_tp { SS_MUON_BLOCKWISE, SS_MUON_DUPLICATED, SS_MUON_DISTRIBUTED };
enum ss_cp_comm { SS_CP_P2P, SS_CP_A2A, SS_CP_ALLGATHER, SS_CP_A2A_P2P };

SS_C_END

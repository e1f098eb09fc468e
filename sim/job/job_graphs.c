/* SPDX-License-Identifier: Apache-2.0 */
/* --cuda-graph-impl and --cuda-graph-scope: what Megatron core refuses, with its words (transformer_config.py of August 2026). */
#include "base/base.h"
#include "job/job_internal.h"

#define SCOPE "--cuda-graph-scope --cuda-graph-modules"

static int has(const struct ss_finish *f, unsigned word)
{
    return (f->asked->graph_words & word) != 0;
}

/* The scope full_iteration is the implementation of that name. */
static int check_iteration(struct ss_finish *f)
{
    struct ss_job *job = f->job;

    if (has(f, SS_GRAPH_WORD_ITERATION) && job->graphs.impl == SS_GRAPHS_TE)
        REFUSE(f, SCOPE " --cuda-graph-impl", "take --cuda-graph-impl full_iteration alone",
               "cuda_graph_modules='full_iteration' cannot be combined with "
               "cuda_graph_impl='transformer_engine'");
    if (has(f, SS_GRAPH_WORD_ITERATION))
        job->graphs.impl = SS_GRAPHS_ITERATION;
    if (job->graphs.impl == SS_GRAPHS_ITERATION && job->graphs.scope)
        REFUSE(f, SCOPE, "drop it",
               "cuda_graph_modules must be empty when cuda_graph_impl=\"full_iteration\"");
    if (has(f, SS_GRAPH_WORD_FULL) && f->asked->graph_words != SS_GRAPH_WORD_FULL)
        REFUSE(f, SCOPE, "take full alone, or leave it out", "full scope cannot be used with other scopes.");
    return SS_OK;
}

/* Checks parts of layers; the parts of the router belong together. Local graphs hold both parts where one is
 * given. */
static int check_scope(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    unsigned router = SS_GRAPH_WORD_ROUTER | SS_GRAPH_WORD_PREPROCESS;
    int padded = job->moe.capacity_factor > 0 && job->moe.pad_to_capacity;

    if (has(f, SS_GRAPH_WORD_MOE) &&
        has(f, job->graphs.impl == SS_GRAPHS_LOCAL ? router : SS_GRAPH_WORD_ROUTER))
        REFUSE(f, SCOPE, "drop one of the two",
               "cuda_graph_modules must not contain both moe and moe_router.");
    if (job->graphs.impl == SS_GRAPHS_TE && has(f, SS_GRAPH_WORD_PREPROCESS) && !has(f, SS_GRAPH_WORD_ROUTER))
        REFUSE(f, SCOPE, "add moe_router",
               "moe_preprocess cuda graph is only supported with moe_router cuda graph.");
    if (!job->model.num_experts && has(f, SS_GRAPH_WORD_MOE | router))
        REFUSE(f, SCOPE, "take attn and mlp", "moe cuda graph is only supported for MoE.");
    if (!job->model.num_experts)
        return SS_OK;
    if (has(f, SS_GRAPH_WORD_MLP) && !ss_job_has_dense_layer(job))
        REFUSE(f, SCOPE, "drop mlp",
               "mlp cuda graph is only supported for dense layers, but not found in the model.");
    if (has(f, SS_GRAPH_WORD_MOE) && !padded)
        REFUSE(f, SCOPE, "take moe_router and moe_preprocess",
               "moe cuda graph is only supported with drop-padding MoE.");
    if (has(f, SS_GRAPH_WORD_PREPROCESS) && !padded && job->moe.dispatcher == SS_DISPATCH_ALLTOALL &&
        (job->moe.capacity_factor > 0 || job->moe.pad_for_fp8))
        REFUSE(f, SCOPE, "drop moe_preprocess",
               "moe_preprocess cuda graph is not supported when there are DtoH copies and synchronizations "
               "in the "
               "preprocess step.");
    /* No words of Megatron's, whose capture fails: tokens of an expert are counted on the host. Offload refuses the same by its own. */
    if (!job->graphs.scope && !padded && !job->offload.fine_grained)
        REFUSE(f, SCOPE " --cuda-graph-impl --enable-cuda-graph --external-cuda-graph",
               "add --cuda-graph-scope attn moe_router moe_preprocess",
               "a graph of whole layers is only supported with drop-padding MoE: the host waits for what the "
               "router "
               "chose");
    return SS_OK;
}

static int check_beside(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (ss_job_offloads_layers(f))
        REFUSE(f, "--cpu-offloading --cuda-graph-impl", "drop one of the two",
               "CUDA graphs not supported with CPU offloading.");
    if (job->recompute.granularity == SS_RECOMPUTE_FULL)
        REFUSE(f, "--recompute-granularity --cuda-graph-impl",
               "take --recompute-granularity selective, or --cuda-graph-impl full_iteration",
               "full recompute is only supported with full iteration CUDA graph.");
    if (job->graphs.impl == SS_GRAPHS_TE && has(f, SS_GRAPH_WORD_ROUTER) &&
        job->recompute.granularity == SS_RECOMPUTE_SELECTIVE &&
        job->recompute.modules & SS_MODULE_BIT(SS_MODULE_MOE))
        REFUSE(f, "--recompute-modules " SCOPE, "drop moe of --recompute-modules, or moe_router",
               "moe recompute is not supported with moe_router CUDA graph with --cuda-graph-impl "
               "transformer_engine.");
    return SS_OK;
}

int ss_job_check_graphs(struct ss_finish *f)
{
    struct ss_job *job = f->job;
    int rc = check_iteration(f);

    if (!rc && (job->graphs.impl == SS_GRAPHS_LOCAL || job->graphs.impl == SS_GRAPHS_TE)) {
        rc = check_scope(f);
        SS_THEN(rc, check_beside(f));
    }
    return rc;
}

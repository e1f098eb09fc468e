/* SPDX-License-Identifier: Apache-2.0 */
/* Recompute: what Megatron-LM refuses, with its words, and what flags leave open. */
#include "base/base.h"
#include "job/job_internal.h"

/* ---- checks ---- */

/* Transformer layers of the largest stage. */
static int stage_layers(const struct ss_job *job)
{
    int first = job->first_stage_layers, last = job->last_stage_layers;
    int rest = job->pp - !!first - !!last;
    int n = rest > 0 ? (ss_job_split_layers(job) - first - last) / rest : 0;

    if (job->layout.n > 0)
        return ss_job_layout_most(job);
    n = first > n ? first : n;
    return last > n ? last : n;
}

int ss_job_check_recompute(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (f->asked->checkpoint_activations && f->stack->te_layers > 0)
        REFUSE(
            f, "--checkpoint-activations", "take --recompute full, or a --stack of before Megatron core",
            "--checkpoint-activations is no longer valid, use --recompute-activations, or, for more control, "
            "--recompute-granularity and --recompute-method.");
    if (job->recompute.modules & SS_MODULE_BIT(SS_MODULE_OPERATORS) && f->stack->by_operator <= 0)
        REFUSE(f, "--recompute --stack",
               "take --recompute selective, or a stack with ss.recompute.by_operator",
               "recompute by operator is not in the stack %s", f->stack->name);
    if (job->recompute.granularity == SS_RECOMPUTE_SELECTIVE && SS_GIVEN(f->asked, recompute_method))
        REFUSE(f, "--recompute-method", "drop --recompute-method",
               "recompute method is not yet supported for selective recomputing granularity");
    if (job->recompute.granularity == SS_RECOMPUTE_SELECTIVE && job->recompute.num_layers)
        REFUSE(f, "--recompute-num-layers", "drop --recompute-num-layers",
               "When using recompute_granularity: selective recompute_num_layers must be None.");
    if (job->recompute.distributed && job->tp == 1)
        REFUSE(f, "--distribute-saved-activations --tp", "drop it",
               "can distribute recomputed activations only across tensor model parallel groups");
    if (job->recompute.distributed && job->recompute.granularity != SS_RECOMPUTE_FULL)
        REFUSE(f, "--distribute-saved-activations", "add --recompute-granularity full",
               "distributed recompute activations is only application to full recompute granularity");
    if (job->recompute.granularity != SS_RECOMPUTE_FULL)
        return SS_OK;
    if (!SS_GIVEN(f->asked, recompute_method) && !f->asked->recompute_short)
        REFUSE(f, "--recompute-granularity", "add --recompute-method",
               "Using recompute_granularity: full so recompute_method must be "
               "\"block\" or \"uniform\"");
    if (job->model.mtp_num_layers > 0 && job->recompute.method == SS_RECOMPUTE_UNIFORM &&
        job->recompute.num_layers > 1)
        REFUSE(f, "--recompute-num-layers --mtp-num-layers", "give --recompute-num-layers 1",
               "recompute_num_layers must be 1 for MTP recompute");
    if (job->recompute.num_layers < 1 || job->recompute.num_layers > stage_layers(job))
        REFUSE(f, "--recompute-num-layers --recompute-granularity",
               "give --recompute-num-layers in that range",
               "When using recompute_granularity: full recompute_num_layers must be between 1 and "
               "num_layers_per_pipeline_rank: %d",
               stage_layers(job));
    return SS_OK;
}

/* ---- completion ---- */

/* Modules to repeat that the model has not. */
static void note_idle_modules(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct {
        int module, there;
        const char *name, *lacks;
    } modules[] = {{SS_MODULE_MOE, job->model.num_experts > 0, "moe", "experts"},
                   {SS_MODULE_SHARED_EXPERTS, job->model.shared_expert_ffn_hidden_size > 0, "shared_experts",
                    "shared experts"},
                   {SS_MODULE_MLP, ss_job_has_dense_layer(job), "mlp", "layers without experts"}};

    for (size_t i = 0; i < SS_ARRAY_LEN(modules); i++)
        if (f->asked->modules_given && job->recompute.modules & SS_MODULE_BIT(modules[i].module) &&
            !modules[i].there)
            ss_note(f->notes, "--recompute-modules %s: not active, the model has no %s", modules[i].name,
                    modules[i].lacks);
}

void ss_job_complete_recompute(struct ss_finish *f)
{
    if (f->job->recompute.distributed && f->job->sequence_parallel) {
        ss_note(
            f->notes,
            "--distribute-saved-activations: sequence parallelism has cut what layers save; Megatron core "
            "refuses both together, older releases do nothing more");
        f->job->recompute.distributed = 0;
    }
    struct ss_job *job = f->job;
    int selective = job->recompute.granularity == SS_RECOMPUTE_SELECTIVE;

    if (selective && !job->recompute.modules)
        job->recompute.modules = SS_MODULE_BIT(SS_MODULE_CORE_ATTN);
    if (!selective && job->recompute.modules)
        ss_note(f->notes, "%s is not active without --recompute-granularity selective",
                f->asked->modules_given ? "--recompute-modules" : "--moe-layer-recompute");
    if (selective && f->asked->moe_recompute && job->recompute.modules & SS_MODULE_BIT(SS_MODULE_OPERATORS))
        ss_note(f->notes, "--moe-layer-recompute is not active beside --recompute op-selective");
    if (job->recompute.granularity == SS_RECOMPUTE_NONE &&
        (SS_GIVEN(f->asked, recompute_method) || job->recompute.num_layers))
        ss_note(f->notes, "--recompute-method and --recompute-num-layers are not active without "
                          "--recompute-granularity full");
    if (!selective)
        job->recompute.modules = 0; /* as in Megatron, which reads them of selective recompute alone */
    note_idle_modules(f);
    if (job->recompute.granularity != SS_RECOMPUTE_FULL) {
        job->recompute.method = SS_RECOMPUTE_UNIFORM;
        job->recompute.num_layers = 0;
    }
}

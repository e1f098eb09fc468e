/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of a mixer or an MLP alone by --hybrid-layer-pattern, and Mamba-2 under tensor and context parallelism: what Megatron-LM makes of
 * them and refuses, with its words (arguments.py, mamba_mixer.py and mamba_context_parallel.py of August 2026). */
#include "base/base.h"
#include "job/job_internal.h"
#include "model/model_internal.h"

#define PATTERN "--hybrid-layer-pattern --hybrid-override-pattern"

/* Other flags that say how layers are dealt to stages. */
static int check_others(struct ss_finish *f, const struct ss_layer_pattern *pattern)
{
    const struct ss_job *job = f->job;

    if (job->layers_per_virtual_stage)
        REFUSE(f, PATTERN " --num-layers-per-virtual-pipeline-stage", "write a | for each virtual stage",
               "--num-layers-per-virtual-pipeline-stage should not be used with --hybrid-layer-pattern.");
    if (job->virtual_stages)
        REFUSE(f, PATTERN " --num-virtual-stages-per-pipeline-rank", "write a | for each virtual stage",
               "--num-virtual-stages-per-pipeline-rank should not be used with --hybrid-layer-pattern.");
    if (job->layout.n)
        REFUSE(f, PATTERN " --pipeline-model-parallel-layout", "write a | for each stage",
               "--pipeline-model-parallel-layout should not be used with --hybrid-layer-pattern.");
    if (job->account_for_embedding || job->account_for_loss)
        REFUSE(f, PATTERN " --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split",
               "write a | for each stage",
               "--account-for-%s-in-pipeline-split should not be used with --hybrid-layer-pattern.",
               job->account_for_embedding ? "embedding" : "loss");
    if (pattern->segments > 1 && (job->first_stage_layers || job->last_stage_layers))
        REFUSE(f, PATTERN " --decoder-first-pipeline-num-layers --decoder-last-pipeline-num-layers",
               "drop them",
               "If --hybrid-layer-pattern contains pipe separators, --decoder-%s-pipeline-num-layers should "
               "not be "
               "specified as the pipeline layout is explicitly defined.",
               job->first_stage_layers ? "first" : "last");
    if (f->asked->noop_layers.n)
        REFUSE(f, PATTERN " --noop-layers", "drop one of the two",
               "--noop-layers beside a pattern is not modelled");
    if (pattern->segments > 1 && pattern->segments % job->pp)
        REFUSE(f, PATTERN " --pp", "take a --pp that divides its segments",
               "The number of hybrid pipeline segments described by --hybrid-layer-pattern must be evenly "
               "divisible "
               "by --pipeline-model-parallel-size. Got %d segments and %d pipeline parallel size.",
               pattern->segments, job->pp);
    return SS_OK;
}

/* Appends the layers of predictions as releases wrote them until the pattern had them. */
static void append_predictions(const struct ss_asked *asked, const struct ss_model *m, char *text,
                               size_t size)
{
    if (asked->hybrid.prediction[0] && !strchr(text, '/'))
        for (int i = 0; i < m->mtp_num_layers; i++)
            ss_append(text, size, "/%s", asked->hybrid.prediction);
}

int ss_job_has_halves(const struct ss_model *m)
{
    return m->no_mixer.n > 0 || m->no_mlp.n > 0 || m->no_mlp.period > 0;
}

/* What Megatron's hybrid model does not read, with its words where it has any. */
static int check_halves(struct ss_finish *f, struct ss_model *m)
{
    const struct ss_model *given = &f->job->model;

    if (!ss_job_has_halves(m))
        return SS_OK;
    if (f->asked->multi_latent)
        REFUSE(f, "--multi-latent-attention", "drop --multi-latent-attention",
               "latent attention in a pattern of layers is not modelled");
    if (given->moe_layers.n || given->moe_layers.period)
        ss_note(f->notes,
                "--moe-layer-freq is not active beside a pattern of layers, whose E are the experts");
    if (m->mtp_num_layers > 0 && !m->mtp_depth_layers) {
        ss_note(f->notes,
                "Hybrid model with --mtp-num-layers but no MTP pattern: nothing predicts; write a / "
                "and its layers behind the others in --hybrid-layer-pattern");
        m->mtp_num_layers = 0;
    }
    return SS_OK;
}

/* Notes what decides nothing beside the pattern's own layers and predictions. */
static void note_beside(const struct ss_finish *f, const struct ss_model *m)
{
    const struct ss_asked *asked = f->asked;
    int layers = f->job->model.num_layers, depths = asked->job.model.mtp_num_layers;

    if (layers && layers != m->num_layers)
        ss_note(f->notes,
                "--hybrid-layer-pattern is set; ignoring --num-layers (%d) and using the layer count derived "
                "from the pattern (%d)",
                layers, m->num_layers);
    if (asked->mtp_given && m->mtp_depth_layers && depths != m->mtp_num_layers)
        ss_note(f->notes,
                "--mtp-num-layers (%d) conflicts with MTP depth count (%d) in the pattern: the pattern's is "
                "used",
                depths, m->mtp_num_layers);
    if (asked->hybrid.prediction[0] && (strchr(asked->hybrid.layers, '/') || !m->mtp_depth_layers))
        ss_note(f->notes, "--mtp-hybrid-override-pattern is not active %s",
                m->mtp_depth_layers ? "beside a pattern that has a /" : "without --mtp-num-layers");
}

/* Lays the pattern of flags over the model. */
static int take_pattern(struct ss_finish *f, struct ss_model *m)
{
    char text[sizeof f->asked->hybrid.layers];
    const struct ss_asked *asked = f->asked;
    struct ss_layer_pattern pattern;
    const char *why = NULL;

    if (!asked->hybrid.layers[0] && asked->hybrid.prediction[0])
        REFUSE(f, "--mtp-hybrid-override-pattern", "add --hybrid-layer-pattern, whose / begins what predicts",
               "--mtp-hybrid-override-pattern is for Mamba/hybrid models only.");
    if (!asked->hybrid.layers[0])
        return SS_OK;
    ss_copy(text, sizeof text, asked->hybrid.layers);
    append_predictions(asked, m, text, sizeof text);
    if (ss_model_pattern(m, text, &pattern, &why))
        REFUSE(f, PATTERN, "M-M*-", "--hybrid-layer-pattern: %s", why);
    note_beside(f, m);
    int rc = check_others(f, &pattern);
    if (!rc && pattern.segments > 1) {
        f->job->layout.n = pattern.segments;
        memcpy(f->job->layout.layers, pattern.segment, sizeof pattern.segment);
    }
    return rc;
}

int ss_job_complete_hybrid(struct ss_finish *f, struct ss_model *m)
{
    SS_TRY(take_pattern(f, m));
    return check_halves(f, m);
}

/* Notes sizes of layers that the model has not. */
static void note_sizes(const struct ss_finish *f)
{
    const struct ss_model *given = &f->asked->job.model;

    if (f->job->mamba_apart)
        ss_note(f->notes, "--disable-mamba-mem-eff-path is not active: the model has no layer of Mamba-2");
    if (f->job->model.mamba1_inner > 0)
        return;
    if (given->mamba_num_heads || given->mamba_head_dim || given->mamba_state_dim ||
        given->mamba_num_groups || given->mamba_conv || given->mamba_chunk)
        ss_note(f->notes, "sizes of Mamba are not active: the model has no such layer");
}

/* Megatron's path without its memory-efficient one. */
static int check_apart(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (job->mamba_apart && job->packed.law != SS_PACKED_NONE)
        REFUSE(f, "--disable-mamba-mem-eff-path --packed-lengths", "drop --disable-mamba-mem-eff-path",
               "Training with packed sequences is not supported in the non-memory-efficient code path.");
    if (job->mamba_apart && job->cp > 1 && job->model.mamba_norm == 0)
        REFUSE(f, "--disable-mamba-mem-eff-path --cp", "drop --disable-mamba-mem-eff-path",
               "Context parallel not supported for use_mem_eff_path==False and rmsnorm==False");
    return SS_OK;
}

int ss_job_check_mamba(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct ss_model *m = &job->model;
    int heads = m->mamba_num_heads, groups = m->mamba_num_groups;
    int64_t width = 2LL * heads * m->mamba_head_dim + 2LL * groups * m->mamba_state_dim + heads;

    if (!heads) {
        note_sizes(f);
        return SS_OK;
    }
    if (heads % job->tp)
        REFUSE(f, "--tp --mamba-num-heads", "take a --tp that divides the heads of Mamba",
               "nheads must be evenly divisble by tp_size (%d, %d)", heads, job->tp);
    if (groups % job->tp)
        REFUSE(f, "--tp --mamba-num-groups", "take a --tp that divides the groups of Mamba",
               "ngroups must be evenly divisible by tp_size (%d, %d)", groups, job->tp);
    if (heads / job->tp % job->cp)
        REFUSE(f, "--cp --mamba-num-heads", "take a --cp that divides the heads of Mamba on a tensor rank",
               "nheads must be evenly divisible by tp_size * cp_size (%d, %d * %d)", heads, job->tp, job->cp);
    groups /= job->tp;
    if (groups < job->cp ? job->cp % groups : groups % job->cp)
        REFUSE(f, "--cp --mamba-num-groups", "take a --cp that divides the groups of Mamba on a tensor rank",
               groups < job->cp
                   ? "cp_size must be evenly divisible by ngroups/tp_size (%d, %d)"
                   : "ngroups must be evenly divisible by tp_size * cp_size (context %d, groups %d)",
               job->cp, groups);
    if (ss_precision_is_quantized(job->precision) && width % 16)
        REFUSE(f, "--mamba-num-heads --mamba-state-dim", "take bf16, or other sizes of Mamba",
               "For FP8, the innermost dimension of the Mamba layer input projection output tensor must be a "
               "multiple "
               "of 16.");
    return check_apart(f);
}

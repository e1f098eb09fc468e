/* SPDX-License-Identifier: Apache-2.0 */
/* What Megatron-LM refuses of --pipeline-model-parallel-layout, with its words. */
#include "base/base.h"
#include "job/job_internal.h"

/* What a mixer is refused under. `fla`: its name in flame, the trainer of flash-linear-attention (flame/models/parallelize_fla.py); NULL: that has
 * no such models. */
struct undivided {
    int has;
    const char *name, *fla;
    int tp, cp, pp; /* 1: refused */
};

static int has(const struct ss_layer_rule *rule)
{
    return rule->n > 0 || rule->period > 0;
}

static int check(struct ss_finish *f, const struct undivided *u)
{
    const struct ss_job *job = f->job;

    if (u->tp && job->tp > 1 && u->fla)
        REFUSE(f, "--tp", "take --tp 1; --fsdp full shards the model",
               "TP plans for token mixing layers of %s not implemented, says flame; no other public "
               "framework divides %s",
               u->fla, u->name);
    if ((u->tp && job->tp > 1) || (u->cp && job->cp > 1))
        REFUSE(f, job->tp > 1 ? "--tp" : "--cp",
               job->tp > 1 ? "take --tp 1; --fsdp full shards the model" : "take --cp 1",
               "no public training framework has layers of %s under %s parallelism", u->name,
               job->tp > 1 ? "tensor" : "context");
    if (u->pp && job->pp > 1)
        REFUSE(f, "--pp", "take --pp 1; --fsdp full shards the model",
               "no public training framework has layers of %s under pipeline parallelism: a stage would need "
               "more than the "
               "hidden state",
               u->name);
    return SS_OK;
}

/* The kernels' rule of native sparse attention (fla/ops/nsa/parallel.py). */
static int check_groups(struct ss_finish *f)
{
    const struct ss_model *m = &f->job->model;
    int group = m->num_attention_heads / m->num_query_groups;

    if (has(&m->nsa) && (group < 16 || group & (group - 1)))
        REFUSE(f, "--num-query-groups", "take 16, 32, ... heads a group",
               "Group size (HQ/H) must be a power of 2 and >= 16 in NSA");
    return SS_OK;
}

int ss_job_check_undivided(struct ss_finish *f)
{
    const struct ss_model *m = &f->job->model;
    const struct undivided mixers[] = {{m->mamba1_inner, "Mamba-1", "mamba", 1, 1, 0},
                                       {m->short_conv_taps, "short convolutions", NULL, 1, 0, 0},
                                       {m->num_shared_blocks, "shared blocks", NULL, 1, 1, 1},
                                       {has(&m->rwkv7), "RWKV-7", "rwkv7", 1, 0, 1},
                                       {has(&m->nsa), "native sparse attention", "nsa", 1, 1, 0},
                                       {has(&m->moba), "mixture of block attention", "moba", 1, 1, 0}};
    const struct ss_job *job = f->job;
    int rc = check_groups(f);

    for (size_t i = 0; i < SS_ARRAY_LEN(mixers) && !rc; i++)
        if (mixers[i].has)
            rc = check(f, &mixers[i]);
    if (!rc && (has(&m->msa) || has(&m->qsa)) && (job->tp > 1 || job->cp > 1))
        REFUSE(f, job->tp > 1 ? "--tp" : "--cp",
               job->tp > 1 ? "take --tp 1; --fsdp full shards the model" : "take --cp 1",
               "sparse attention over blocks under %s parallelism is not modelled",
               job->tp > 1 ? "tensor" : "context");
    return rc;
}

/* ---- layers ---- */

int ss_job_has_dense_layer(const struct ss_job *job)
{
    const struct ss_model *m = &job->model;

    for (int i = 0; i < m->num_layers; i++)
        if (!ss_layer_rule_has(&m->no_mlp, i) && !(m->num_experts && ss_layer_rule_has(&m->moe_layers, i)))
            return 1;
    return 0;
}

int ss_job_layout_most(const struct ss_job *job)
{
    int most = 0;

    for (int rank = 0; rank < job->pp; rank++) {
        int n = 0;
        for (int v = rank; v < job->layout.n; v += job->pp)
            n += job->layout.layers[v];
        most = n > most ? n : most;
    }
    return most;
}

/* Flags that say the same otherwise. */
static int check_others(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (job->layers_per_virtual_stage || job->virtual_stages)
        REFUSE(f,
               "--pipeline-model-parallel-layout --num-virtual-stages-per-pipeline-rank "
               "--num-layers-per-virtual-pipeline-stage",
               "drop one of them",
               "No more than one of the following arguments can be set at the same time: "
               "--num-layers-per-virtual-pipeline-stage, --num-virtual-stages-per-pipeline-rank, "
               "--pipeline-model-parallel-layout.");
    if (job->first_stage_layers || job->last_stage_layers || job->account_for_embedding ||
        job->account_for_loss)
        REFUSE(f, "--pipeline-model-parallel-layout", "drop the other flags of it",
               "pipeline_model_parallel_layout cannot be set with other pipeline layout arguments.");
    return SS_OK;
}

int ss_job_check_pipeline_layout(struct ss_finish *f, int *v)
{
    const struct ss_job *job = f->job;
    const char *flag = "--pipeline-model-parallel-layout";
    int stages = job->layout.n, layers = 0;

    SS_TRY(check_others(f));
    for (int i = 0; i < stages; i++)
        layers += job->layout.layers[i];
    if (stages % job->pp)
        REFUSE(f, "--pipeline-model-parallel-layout --pp", "take a --pp that divides its stages",
               "pipeline_model_parallel_layout must be divisible by pipeline_model_parallel_size (%d stages, "
               "pipeline %d)",
               stages, job->pp);
    if (layers != job->model.num_layers)
        REFUSE(f, "--pipeline-model-parallel-layout --num-layers", "write a t for each layer",
               "Number of decoder layers %d must match num_layers %d", layers, job->model.num_layers);
    if (f->asked->job.layout.n && f->asked->layout_mtp >= 0 &&
        f->asked->layout_mtp != job->model.mtp_num_layers)
        REFUSE(f, "--pipeline-model-parallel-layout --mtp-num-layers", "write an m for each MTP layer",
               "Number of mtp layers in layout must match mtp_num_layers (%d, %d)", f->asked->layout_mtp,
               job->model.mtp_num_layers);
    if (job->pp < 2 && stages > 1)
        REFUSE(f, "--pipeline-model-parallel-layout --pp", "take a larger --pp",
               "when interleaved schedule is used, pipeline-model-parallel size should be greater than 1");
    if (stages > job->pp && job->pp < 3 && !job->overlap_p2p)
        REFUSE(f, flag, "drop --no-overlap-p2p-communication",
               "when interleaved schedule is used and p2p communication overlap is disabled, "
               "pipeline-model-parallel size should be greater than 2");
    *v = stages > job->pp ? stages / job->pp : 0;
    return SS_OK;
}

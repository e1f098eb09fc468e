/* SPDX-License-Identifier: Apache-2.0 */
/* Mixers that no public training framework divides over ranks, or not over all kinds of ranks. */
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

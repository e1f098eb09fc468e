/* SPDX-License-Identifier: Apache-2.0 */
/* The legal layouts of a job, and what gives way where all of them are refused. */
#include "base/base.h"
#include "decide/capacity_internal.h"
#include "decide/nearest_internal.h"

/* Flags that say what is trained and on what, which no repair leaves out. */
static const char kept_flags[] =
    "--model --platform --card --nodes --gpus --gpus-per-node --seq --gbs --set --scale";

const char *ss_near_next_flag(const char *words, char *name)
{
    words += strspn(words, " ");
    snprintf(name, 64, "%.*s", (int)strcspn(words, " "), words);
    return *words ? words + strcspn(words, " ") : NULL;
}

int ss_near_put(struct ss_near *x, const char *flag, int value, struct ss_error *err)
{
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    ss_request_drop(&x->base, flag);
    return ss_request_set(&x->base, flag, text, err);
}

int ss_near_leave_out(struct ss_near *x, const char *flag, struct ss_error *err)
{
    ss_request_drop(&x->base, flag);
    return strcmp(flag, "--bf16") ? SS_OK : ss_request_set(&x->base, "--fp16", NULL, err);
}

/* Finds the first flag of a refusal that the job gives and can do without: name[64]. */
static int find_blamed(const struct ss_near *x, const char *flags, char *name)
{
    while ((flags = ss_near_next_flag(flags, name)) != NULL)
        if (!ss_has_word(kept_flags, name) && ss_request_find(&x->base, name) < x->base.n)
            return 1;
    return 0;
}

/* What the refusals of a space blame. */
struct blame {
    char flag[64]; /* that the job can do without; "": none */
    int sequence, batch;
};

static void read_blame(struct ss_near *x, const struct ss_error *why, struct blame *out)
{
    const struct ss_find_result *f = x->space.found;
    int64_t most = 0, told = 0;
    char name[64];

    *out = (struct blame){.flag = ""};
    if (why->code && find_blamed(x, why->flags, name))
        ss_copy(out->flag, sizeof out->flag, name);
    for (int i = 0; f && i < f->nrules; i++) {
        const struct ss_find_rule *rule = &f->rules[i];
        out->batch |= strstr(rule->flags, "--gbs") != NULL;
        out->sequence |= strstr(rule->flags, "--seq") != NULL;
        if (rule->n > most && find_blamed(x, rule->flags, name)) {
            most = rule->n;
            ss_copy(out->flag, sizeof out->flag, name);
        }
        if (rule->n > told) {
            told = rule->n;
            ss_fail(&x->out->why, rule->code, NULL, 0, "%s", rule->example);
        }
    }
}

/* Takes what every layout is refused for out of the job: a flag, a sequence longer than the model's, or a batch that no layout
 * divides. *changed 0: there is no such thing. */
static int repair(struct ss_near *x, const struct ss_error *why, int *changed, struct ss_error *err)
{
    int positions = x->space.nclusters ? x->space.clusters[0].model.max_position_embeddings : 0, batch[2];
    struct ss_job *own = &x->own.job;
    struct blame blame;

    read_blame(x, why, &blame);
    *changed = 1;
    if (blame.flag[0])
        return ss_near_leave_out(x, blame.flag, err);
    if (blame.sequence && positions > 0 && positions < own->seq_length) {
        own->seq_length = positions;
        return ss_near_put(x, "--seq", positions, err);
    }
    *changed = blame.batch && x->rebatched < 2 && own->global_batch > 0;
    if (!*changed)
        return SS_OK;
    int gpus = x->space.found->groups[0].gpus, n = ss_capacity_batches(own->global_batch, gpus, batch);
    return ss_near_put(x, "--gbs",
                       x->rebatched++ ? ss_capacity_nearest(own->global_batch, gpus) : batch[n - 1], err);
}

int ss_near_open_space(struct ss_near *x, struct ss_error *err)
{
    int changed, rc;

    do {
        struct ss_error why = {0};
        changed = 0;
        ss_find_space_free(&x->space);
        rc = ss_find_space_build(&x->base, &x->find, &x->space, &why);
        SS_THEN(rc, ss_find_walk(&x->space, &x->find, 0, &why));
        if (rc && !ss_status_refuses(rc)) {
            if (err)
                *err = why;
            return rc;
        }
        if (rc)
            x->out->why = why;
        rc = x->space.nleaves ? SS_OK : repair(x, &why, &changed, err);
    } while (!rc && changed);
    x->refused = !x->space.nleaves;
    return rc;
}

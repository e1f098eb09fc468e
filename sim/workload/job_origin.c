/* SPDX-License-Identifier: Apache-2.0 */
/* Which line of a job file set what, so that a refusal can point at it. */
#include <string.h>

#include "base/base.h"
#include "workload/flags.h"
#include "workload/job_internal.h"

static int same_target(const struct ss_flag_setter *a, const struct ss_flag_setter *b)
{
    if (a->kind == SS_FLAG_CALL || b->kind == SS_FLAG_CALL)
        return a->kind == b->kind && a->call == b->call;
    return a->offset == b->offset;
}

/* Short and long names of one thing share the number of the first of them. */
static int number_of(const struct ss_flag_setter *s)
{
    int i = 0;

    while (!same_target(&ss_flag_setters[i], s))
        i++;
    return i;
}

static struct ss_origin *find(struct ss_job_origins *o, int flag)
{
    for (int i = 0; i < o->n; i++)
        if (o->at[i].flag == flag)
            return &o->at[i];
    return NULL;
}

void ss_job_origin_set(struct ss_job *job, const struct ss_flag_setter *s, const char *file, int line)
{
    struct ss_job_origins *o = &job->origins;
    int flag = number_of(s);
    struct ss_origin *at = find(o, flag);

    if (file && strcmp(o->file, file) != 0) { /* lines are known of one file: the last */
        ss_copy(o->file, sizeof(o->file), file);
        o->n = 0;
        at = NULL;
    }
    if (!at && (!o->file[0] || o->n >= SS_MAX_ORIGINS))
        return;
    if (!at) {
        at = &o->at[o->n++];
        at->flag = flag;
    }
    at->line = file ? line : 0;
}

int ss_job_blame(struct ss_finish *f, const char *flags)
{
    struct ss_job_origins *o = &f->job->origins;

    for (const char *p = flags; f->err && *p; p += strspn(p, " ")) {
        char name[96];
        struct ss_flag flag;
        size_t n = strcspn(p, " ");
        snprintf(name, sizeof(name), "%.*s", (int)n, p);
        p += n;
        if (!ss_flag_find(name, &flag) || !flag.setter)
            continue;
        const struct ss_origin *at = find(o, number_of(flag.setter));
        if (!at)
            continue;
        if (at->line > 0) {
            ss_copy(f->err->file, sizeof(f->err->file), o->file);
            f->err->line = at->line;
        }
        break;
    }
    return SS_ERR_CONFIG;
}

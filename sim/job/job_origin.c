/* SPDX-License-Identifier: Apache-2.0 */
/* Which line of a job file set what, so that a refusal can point at it. */
#include <string.h>

#include "base/base.h"
#include "job/flags.h"
#include "job/job_internal.h"

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

/* Index, or -1. */
static int find(const struct ss_job_origins *o, int flag)
{
    for (int i = 0; i < o->n; i++)
        if (o->at[i].flag == flag)
            return i;
    return -1;
}

void ss_job_origin_set(struct ss_job *job, const struct ss_flag_setter *s, const char *file, int line)
{
    struct ss_job_origins *o = &job->origins;
    int flag = number_of(s), at;

    if (file && strcmp(o->file, file) != 0) { /* lines are known of one file: the last */
        ss_copy(o->file, sizeof(o->file), file);
        o->n = 0;
    }
    at = find(o, flag);
    if (at < 0) {
        if (!o->file[0] || o->n >= SS_MAX_ORIGINS)
            return;
        at = o->n++;
        o->at[at].flag = flag;
    }
    o->at[at].line = file ? line : 0;
}

void ss_job_locate(const struct ss_job *job, const char *flags, struct ss_error *err)
{
    for (const char *p = flags; err && !err->file[0] && *p; p += strspn(p, " ")) {
        char name[96];
        struct ss_flag flag;
        size_t n = strcspn(p, " ");
        snprintf(name, sizeof(name), "%.*s", (int)n, p);
        p += n;
        if (!ss_flag_find(name, &flag) || !flag.setter)
            continue;
        int at = find(&job->origins, number_of(flag.setter));
        if (at < 0)
            continue;
        if (job->origins.at[at].line > 0) {
            ss_copy(err->file, sizeof(err->file), job->origins.file);
            err->line = job->origins.at[at].line;
        }
        break;
    }
}

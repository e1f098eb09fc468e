/* SPDX-License-Identifier: Apache-2.0 */
/* The schedules that are known by name. */
#include "base/base.h"
#include "schedule/builder.h"

/* More slots than this are a slip of the keyboard, not a job. */
#define SLOTS_MAX ((int64_t)1 << 28)

static const struct ss_schedule_row *const table[] = {
#define X(name) &ss_schedule_##name,
    SS_SCHEDULE_LIST(X)
#undef X
};

int ss_schedule_known(int n, const char **name, const char **description)
{
    if (n < 0 || (size_t)n >= SS_ARRAY_LEN(table))
        return 0;
    if (name)
        *name = table[n]->name;
    if (description)
        *description = table[n]->description;
    return 1;
}

int ss_schedule_known_chunks(int n, int wanted)
{
    if (n < 0 || (size_t)n >= SS_ARRAY_LEN(table))
        return -1;
    return table[n]->chunks ? table[n]->chunks : wanted > 0 ? wanted : 2;
}

static int find(const char *name)
{
    for (size_t i = 0; name && i < SS_ARRAY_LEN(table); i++)
        if (!strcmp(name, table[i]->name))
            return (int)i;
    return -1;
}

int ss_schedule_chunks(const char *name, int wanted)
{
    int n = find(name);

    return n < 0 ? wanted : ss_schedule_known_chunks(n, wanted);
}

int ss_schedule_heeds(const char *name)
{
    int n = find(name);

    return n < 0 ? 0 : table[n]->heeds;
}

const struct ss_schedule_facts *ss_schedule_known_facts(int n)
{
    return n < 0 || (size_t)n >= SS_ARRAY_LEN(table) ? NULL : &table[n]->facts;
}

const char *ss_schedule_default(int chunks)
{
    return chunks > 1 ? "interleaved" : "1f1b";
}

const char *ss_schedule_undemanding(int chunks, int v_shape)
{
    return v_shape ? "zb-v" : chunks > 1 ? "looped-bfs" : "gpipe";
}

int ss_schedule_check_params(const char *name, const struct ss_schedule_params *p, struct ss_error *err)
{
    if (!name || !p)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "no name of a schedule, or no numbers");
    if (p->stages < 1 || p->chunks < 1 || p->microbatches < 1 || p->microbatch_group_size < 0)
        return ss_fail(err, SS_ERR_INPUT, NULL, 0,
                       "schedule %s: %d stages, %d chunks, %d microbatches: each must be at least 1", name,
                       p->stages, p->chunks, p->microbatches);
    /* Divided step by step: the product may overflow. */
    if (SLOTS_MAX / 2 / p->stages / p->chunks < p->microbatches)
        return ss_fail(err, SS_ERR_INPUT, NULL, 0,
                       "schedule %s: %d stages x %d chunks x %d microbatches is more than %lld slots", name,
                       p->stages, p->chunks, p->microbatches, (long long)SLOTS_MAX);
    return SS_OK;
}

int ss_schedule_build(const char *name, const struct ss_schedule_params *params, struct ss_schedule **out,
                      struct ss_error *err)
{
    const char *names[SS_ARRAY_LEN(table)];
    int n = find(name);
    if (n >= 0 || !name) {
        int rc = ss_schedule_check_params(name, params, err);
        SS_THEN(rc, table[n]->build(params, out, err));
        if (!rc)
            (*out)->sound = 1; /* as tests/unit/schedule prove */
        return rc;
    }
    SS_TRY(ss_data_other_ending(name, ".csv or .sched", "schedules", SS_ERR_INPUT, err));
    for (size_t i = 0; i < SS_ARRAY_LEN(table); i++)
        names[i] = table[i]->name;
    ss_fail(err, SS_ERR_INPUT, NULL, 0, "unknown schedule '%s'", name);
    const char *near = ss_nearest(name, names, SS_ARRAY_LEN(table));
    return ss_hint(err, SS_ERR_INPUT,
                   near ? "did you mean '%s'? `stepsim list schedules` names all"
                        : "`stepsim list schedules` names all%.0s",
                   near ? near : "");
}

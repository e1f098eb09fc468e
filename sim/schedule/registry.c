/* SPDX-License-Identifier: Apache-2.0 */
/* The schedules that are known by name: builder and facts, a row each. */
#include <string.h>

#include "base/base.h"
#include "schedule/builder.h"

/* More slots than this are a slip of the keyboard, not a job. */
#define SLOTS_MAX ((int64_t)1 << 28)

static const struct {
    const char *name, *description;
    ss_schedule_builder build;
    int chunks; /* that a rank must have; 0: as asked for, 2 where nothing is asked for */
    struct ss_schedule_facts facts;
} table[] = {
    {"1f1b",
     "one forward, one backward (PipeDream-flush); Megatron without virtual stages",
     ss_schedule_build_1f1b,
     1,
     {"Narayanan et al. 2021, arXiv:2006.09503; Megatron core", "", "(p-1)(F+B)", "p"}},
    {"interleaved",
     "1F1B over several model chunks a rank; Megatron with virtual stages",
     ss_schedule_build_interleaved,
     0,
     {"Narayanan et al. 2021, arXiv:2104.04473; Megatron core", "p divides m, or a group size", "(p-1)(F+B)",
      "(v-1)p+2(p-1)+1, m>p"}},
    {"gpipe",
     "all forwards, then all backwards",
     ss_schedule_build_gpipe,
     1,
     {"Huang et al. 2019, arXiv:1811.06965", "", "(p-1)(F+B)", "m"}},
    {"eager-1f1b",
     "1F1B with twice the warm-up and asynchronous sends, which hides their time",
     ss_schedule_build_eager_1f1b,
     1,
     {"Zhuang et al. 2023, arXiv:2211.05322", "", "(p-1)(F+B)", "2p-1, m>=2p-1"}},
    {"looped-bfs",
     "all microbatches through a chunk before the next chunk (breadth first)",
     ss_schedule_build_looped_bfs,
     0,
     {"Lamy-Poirier 2023, arXiv:2211.05953", "m>=p", "(p-1)(F+B)", "v m"}},
    {"zb-h1",
     "1F1B with split backward: W fills the cool-down, memory of 1F1B",
     ss_schedule_build_zb_h1,
     1,
     {"Qi et al. 2024, arXiv:2401.10241", "m>=p", "(p-1)(F+I-W)", "p"}},
    {"zb-h2",
     "split backward and longer warm-up: no bubble without a global barrier, twice the memory",
     ss_schedule_build_zb_h2,
     1,
     {"Qi et al. 2024, arXiv:2401.10241", "m>=2p-1", "(p-1)(F+I-2W)", "2p-1"}},
    {"zb-v",
     "split backward on a V of two chunks a rank: no bubble where F = I = W, memory of 1F1B",
     ss_schedule_build_zb_v,
     2,
     {"Qi et al. 2024, arXiv:2401.10241 section 6", "m>=2p-1", "0 for F=I=W", "2p"}},
    {"dualpipe",
     "microbatches from both ends over two copies of the model, forward beside backward",
     ss_schedule_build_dualpipe,
     2,
     {"DeepSeek-V3 2024, arXiv:2412.19437; deepseek-ai/DualPipe", "p and m even, m>=2p", "(p/2-1)(FB+B-3W)",
      "p+1"}},
    {"dualpipev",
     "DualPipe cut in half: a V of two chunks a rank, one copy of the model",
     ss_schedule_build_dualpipev,
     2,
     {"deepseek-ai/DualPipe; Sea AI Lab's cut in half", "m>=2p", "(p-1)(FB+B-3W)", "2p+1"}},
};

int ss_schedule_known(int n, const char **name, const char **description)
{
    if (n < 0 || (size_t)n >= SS_ARRAY_LEN(table))
        return 0;
    if (name)
        *name = table[n].name;
    if (description)
        *description = table[n].description;
    return 1;
}

int ss_schedule_known_chunks(int n, int wanted)
{
    if (n < 0 || (size_t)n >= SS_ARRAY_LEN(table))
        return -1;
    return table[n].chunks ? table[n].chunks : wanted > 0 ? wanted : 2;
}

int ss_schedule_chunks(const char *name, int wanted)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(table); i++)
        if (!strcmp(name, table[i].name))
            return ss_schedule_known_chunks((int)i, wanted);
    return wanted;
}

const struct ss_schedule_facts *ss_schedule_known_facts(int n)
{
    return n < 0 || (size_t)n >= SS_ARRAY_LEN(table) ? NULL : &table[n].facts;
}

const char *ss_schedule_default(int chunks)
{
    return chunks > 1 ? "interleaved" : "1f1b";
}

const char *ss_schedule_undemanding(int chunks, int v_shape)
{
    return v_shape ? "zb-v" : chunks > 1 ? "looped-bfs" : "gpipe";
}

static int check_params(const char *name, const struct ss_schedule_params *p, struct ss_error *err)
{
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
    for (size_t i = 0; i < SS_ARRAY_LEN(table); i++) {
        names[i] = table[i].name;
        if (strcmp(name, table[i].name) != 0)
            continue;
        int rc = check_params(name, params, err);
        if (!rc)
            rc = table[i].build(params, out, err);
        if (!rc)
            (*out)->sound = 1; /* as tests/unit/test_schedule*.c prove */
        return rc;
    }
    ss_fail(err, SS_ERR_INPUT, NULL, 0, "unknown schedule '%s'", name);
    const char *near = ss_nearest(name, names, SS_ARRAY_LEN(table));
    return ss_hint(err, SS_ERR_INPUT,
                   near ? "did you mean '%s'? `stepsim list schedules` names all"
                        : "`stepsim list schedules` names all%.0s",
                   near ? near : "");
}

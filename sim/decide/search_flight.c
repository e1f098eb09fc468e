/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what the order of a named schedule says about each of its layouts: where stages are, and what a
 * rank keeps. */
#include <string.h>

#include "decide/search_internal.h"
#include "stepsim/schedule.h"

/* Returns 1 if there is one pipeline, and virtual stage s is the (s / p)-th chunk of rank s % p. */
static int is_plain(const struct ss_schedule *s)
{
    if (s->pipelines > 1)
        return 0;
    for (int i = 0; i < s->stages * s->chunks; i++)
        if (s->virtual_rank[i] != i % s->stages || s->virtual_chunk[i] != i / s->stages)
            return 0;
    return 1;
}

/* Returns the most microbatches in flight on a rank. The first turn of a loop is enough: slots up to its
 * end run as they stand. */
static int in_flight(const struct ss_schedule *s, int rank)
{
    int n = s->loop_more > 0 ? s->loop_first[rank] + s->loop_length : s->nslots[rank], now = 0, most = 0;
    for (int i = 0; i < n; i++)
        switch (s->slots[rank][i].phase) {
        case SS_PHASE_F: now++; break;
        case SS_PHASE_B:
        case SS_PHASE_I:
            most = now > most ? now : most;
            now--;
            break;
        default: break;
        }
    return most;
}

int ss_find_flight(const struct ss_job *job, int microbatches, struct ss_find_flight *out)
{
    struct ss_schedule_params params = {.stages = job->pp,
                                        .chunks = ss_job_chunks(job),
                                        .microbatches = microbatches,
                                        .microbatch_group_size =
                                            job->microbatch_group_size ? job->microbatch_group_size : job->pp,
                                        .overlap_p2p = 1};
    struct ss_schedule *s;
    memset(out, 0, sizeof *out);
    if (ss_schedule_is_file(job->schedule) || job->packed.rows || job->moe.overlap ||
        ss_schedule_chunks(job->schedule, params.chunks) != params.chunks)
        return SS_OK;
    int rc = ss_schedule_build_loop(job->schedule, &params, &s, NULL);
    if (rc)
        return rc == SS_ERR_NOMEM ? rc : SS_OK;
    out->plain = is_plain(s);
    const int ranks[3] = {0, job->pp > 2 ? 1 : job->pp - 1, job->pp - 1};
    for (int i = 0; i < 3 && out->plain; i++)
        out->n[i] = in_flight(s, ranks[i]);
    ss_schedule_free(s);
    return SS_OK;
}

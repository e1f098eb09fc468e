/* SPDX-License-Identifier: Apache-2.0 */
/* What a schedule takes with free communication: times of slots, makespan, bubble. */
#include <stdlib.h>

#include "base/base.h"
#include "schedule/builder.h"

static double rank_work(const struct ss_schedule *s, const double *const *duration, int rank)
{
    double sum = 0;
    for (int i = 0; i < s->nslots[rank]; i++)
        sum += ss_schedule_slot_seconds(duration, &s->slots[rank][i]);
    return sum;
}

/* Slots of a phase and chunk that are alike. */
struct durations {
    const double *const *duration;
};

static double slot_seconds(void *ctx, int rank, const struct ss_slot *slot)
{
    const struct durations *d = ctx;
    (void)rank;
    return ss_schedule_slot_seconds(d->duration, slot);
}

/* Checks and runs; *end is the caller's, one entry a rank. */
static int timed_by(const struct ss_schedule *s, ss_slot_timer timer, void *ctx, double *end,
                    double *const *starts, double *const *ends, struct ss_error *err)
{
    int rc = s->sound ? SS_OK : ss_schedule_check(s, err);
    if (rc)
        return rc;
    int *at = ss_calloc((size_t)s->stages, sizeof *at);
    rc = at ? ss_schedule_relax(s, timer, ctx, at, end, starts, ends, err)
            : ss_fail(err, SS_ERR_NOMEM, NULL, 0, "no memory for %d ranks", s->stages);
    free(at);
    return rc;
}

static int timed(const struct ss_schedule *s, const double *const *duration, double *end,
                 double *const *starts, double *const *ends, struct ss_error *err)
{
    struct durations d = {duration};
    return timed_by(s, duration ? slot_seconds : NULL, &d, end, starts, ends, err);
}

int ss_schedule_times(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                      double *const *start, double *const *end, struct ss_error *err)
{
    return timed(s, duration, NULL, start, end, err);
}

static double longest(const double *end, int ranks)
{
    double most = 0;
    for (int r = 0; r < ranks; r++)
        most = end[r] > most ? end[r] : most;
    return most;
}

int ss_schedule_makespan_timed(const struct ss_schedule *s, ss_slot_timer timer, void *ctx, double *makespan,
                               struct ss_error *err)
{
    double *end = ss_calloc((size_t)s->stages, sizeof *end);
    int rc = end ? timed_by(s, timer, ctx, end, NULL, NULL, err)
                 : ss_fail(err, SS_ERR_NOMEM, NULL, 0, "no memory for %d ranks", s->stages);
    if (!rc)
        *makespan = longest(end, s->stages);
    free(end);
    return rc;
}

int ss_schedule_makespan(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                         double *makespan, double *idle, struct ss_error *err)
{
    double *end = ss_calloc((size_t)s->stages, sizeof *end);
    int rc = end ? timed(s, duration, end, NULL, NULL, err)
                 : ss_fail(err, SS_ERR_NOMEM, NULL, 0, "no memory for %d ranks", s->stages);
    if (!rc) {
        *makespan = longest(end, s->stages);
        for (int r = 0; idle && r < s->stages; r++)
            idle[r] = *makespan - rank_work(s, duration, r);
    }
    free(end);
    return rc;
}

int ss_schedule_bubble(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                       double *bubble, struct ss_error *err)
{
    size_t p = (size_t)s->stages, n = 0;
    for (size_t r = 0; r < p; r++)
        n += (size_t)s->nslots[r];
    double *times = ss_calloc(p + n, sizeof *times), **start = ss_calloc(p, sizeof *start);
    int rc =
        times && start ? SS_OK : ss_fail(err, SS_ERR_NOMEM, NULL, 0, "no memory for %d ranks", s->stages);
    for (size_t r = 0, at = p; !rc && r < p; at += (size_t)s->nslots[r++])
        start[r] = times + at;
    if (!rc)
        rc = timed(s, duration, times, start, NULL, err);
    for (int r = 0; !rc && r < s->stages; r++)
        bubble[r] = s->nslots[r] ? times[r] - start[r][0] - rank_work(s, duration, r) : 0;
    free(times);
    free(start);
    return rc;
}

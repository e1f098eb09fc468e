/* SPDX-License-Identifier: Apache-2.0 */
/* Times of a schedule with free communication: slots, makespan, bubble. */
#include "base/base.h"
#include "schedule/builder.h"

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

/* A schedule and what its slots take. */
struct timing {
    const struct ss_schedule *s;
    ss_slot_timer timer; /* NULL: nothing */
    void *ctx;
    struct ss_error *err;
};

/* Returns the work in a rank's slots from one to another. */
static double work_of(const struct timing *t, const struct ss_schedule *s, int rank, int from, int to)
{
    double sum = 0;
    for (int i = from; i < to && t->timer; i++)
        sum += t->timer(t->ctx, rank, &s->slots[rank][i]);
    return sum;
}

/* Checks and runs; *work is the caller's, zero for each rank, and may be NULL. */
static int run(const struct timing *t, const struct ss_schedule *s, double *work, double *const *starts,
               double *const *ends)
{
    SS_TRY(s->sound ? SS_OK : ss_schedule_check(s, t->err));
    int *at = ss_calloc((size_t)s->stages, sizeof *at);
    int rc = at ? ss_schedule_relax(s, t->timer, t->ctx, at, work, starts, ends, t->err) : ss_nomem(t->err);
    free(at);
    return rc;
}

int ss_schedule_times(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                      double *const *start, double *const *end, struct ss_error *err)
{
    struct durations d = {duration};
    const struct timing t = {s, duration ? slot_seconds : NULL, &d, err};
    return run(&t, s, NULL, start, end);
}

/* ---- when ranks begin and end, and their work over all turns of a loop ---- */

/* [stages] each, s; the caller frees `first`. */
struct spans {
    double *first, *end, *work;
};

/* Start and end of every slot; the caller frees start[0] and start. */
static int make_rows(const struct timing *t, const struct ss_schedule *s, double ***start, double ***end)
{
    size_t p = (size_t)s->stages, n = 0;
    for (size_t r = 0; r < p; r++)
        n += (size_t)s->nslots[r];
    double *times = malloc((2 * n + 1) * sizeof *times), **rows = ss_calloc(2 * p, sizeof *rows);
    if (!times || !rows) {
        free(times);
        free(rows);
        return ss_nomem(t->err);
    }
    *start = rows;
    *end = rows + p;
    for (size_t r = 0; r < p; times += 2 * s->nslots[r++]) {
        rows[r] = times;
        rows[p + r] = times + s->nslots[r];
    }
    return SS_OK;
}

/* Returns at most how many turns earlier the slots lie that a slot of a loop waits for: those of the same
 * microbatch. */
static int lag_of(const struct ss_schedule *s)
{
    int low = s->microbatches, high = 0;
    for (int r = 0; r < s->stages; r++)
        for (int i = s->loop_first[r]; i < s->loop_first[r] + s->loop_length; i++) {
            const struct ss_slot *slot = &s->slots[r][i];
            int other = slot->phase == SS_PHASE_FB ? slot->microbatch2 : slot->microbatch;
            int least = slot->microbatch < other ? slot->microbatch : other;
            int most = slot->microbatch > other ? slot->microbatch : other;
            low = least < low ? least : low;
            high = most > high ? most : high;
        }
    return (high - low) / s->loop_step + 1;
}

#define SAME 1e-12 /* of the time so far: what differs by less is equal */

/* Whether each of the last `lag` of so many turns, which is all that later ones wait for, is the one before it *step s later. Then so
 * is every turn that follows. */
static int is_settled(const struct ss_schedule *s, double *const *end, int turns, int lag, double *step)
{
    int length = s->loop_length, last = s->loop_first[0] + turns * length - 1;
    *step = (end[0][last] - end[0][last - lag * length]) / lag;
    for (int r = 0; r < s->stages; r++) {
        const double *at = end[r] + s->loop_first[r] + (turns - lag) * length;
        for (int i = 0; i < lag * length; i++)
            if (!(fabs(at[i] - at[i - length] - *step) <= SAME * at[i]))
                return 0;
    }
    return 1;
}

static void fill_spans(const struct ss_schedule *s, double *const *start, double *const *end, struct spans *x)
{
    for (int r = 0; r < s->stages; r++) {
        int n = s->nslots[r];
        x->first[r] = n ? start[r][0] : 0;
        x->end[r] = n ? end[r][n - 1] : 0;
    }
}

/* With `more` turns beyond the first. 1: the others follow from these, or there are no others; 0: not yet. */
static int try_turns(const struct timing *t, int more, struct spans *x)
{
    const struct ss_schedule *s = t->s;
    struct ss_schedule *few = NULL;
    double **start = NULL, **end = NULL, step = 0;
    int lag = s->loop_more ? lag_of(s) : 0, rest = s->loop_more - more;
    int rc = s->loop_more ? ss_schedule_turns(s, more, &few, t->err) : SS_OK, settled = 1;
    SS_THEN(rc, make_rows(t, few ? few : s, &start, &end));
    memset(x->work, 0, (size_t)s->stages * sizeof *x->work);
    SS_THEN(rc, run(t, few ? few : s, x->work, start, end));
    if (!rc && rest)
        settled = is_settled(s, end, more + 1, lag, &step);
    if (!rc && settled)
        fill_spans(few ? few : s, start, end, x);
    for (int r = 0; r < s->stages && !rc && settled && rest; r++) {
        x->end[r] += rest * step;
        x->work[r] += rest * work_of(t, s, r, s->loop_first[r], s->loop_first[r] + s->loop_length);
    }
    if (start)
        free(start[0]);
    free(start);
    ss_schedule_free(few);
    return rc ? rc : settled;
}

static int find_spans(const struct timing *t, struct spans *x)
{
    size_t p = (size_t)t->s->stages;
    int more = t->s->loop_short ? t->s->loop_more : t->s->loop_more ? lag_of(t->s) : 0, done = 0;
    x->first = ss_calloc(3 * p, sizeof *x->first);
    SS_NEED(x->first, t->err);
    x->end = x->first + p;
    x->work = x->end + p;
    for (; !done; more *= 4)
        done = try_turns(t, more < t->s->loop_more ? more : t->s->loop_more, x);
    return done < 0 ? done : SS_OK;
}

int ss_schedule_makespan_timed(const struct ss_schedule *s, ss_slot_timer timer, void *ctx, double *makespan,
                               double *idle, struct ss_error *err)
{
    const struct timing t = {s, timer, ctx, err};
    struct spans x;
    int rc = find_spans(&t, &x);
    for (int r = 0; !rc && r < s->stages; r++)
        *makespan = r == 0 || x.end[r] > *makespan ? x.end[r] : *makespan;
    for (int r = 0; !rc && idle && r < s->stages; r++)
        idle[r] = *makespan - x.work[r];
    free(x.first);
    return rc;
}

int ss_schedule_makespan(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                         double *makespan, double *idle, struct ss_error *err)
{
    struct durations d = {duration};
    return ss_schedule_makespan_timed(s, duration ? slot_seconds : NULL, &d, makespan, idle, err);
}

int ss_schedule_bubble(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                       double *bubble, struct ss_error *err)
{
    struct durations d = {duration};
    const struct timing t = {s, duration ? slot_seconds : NULL, &d, err};
    struct spans x;
    int rc = find_spans(&t, &x);
    for (int r = 0; !rc && r < s->stages; r++)
        bubble[r] = x.end[r] - x.first[r] - x.work[r];
    free(x.first);
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Times of a schedule with free communication: slots, makespan, bubble. */
#include "base/base.h"
#include "base/cache.h"
#include "schedule/builder.h"
#include "schedule/spans.h"

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

/* A schedule and what its slots take, in each of some lanes. */
struct timing {
    const struct ss_schedule *s;
    struct ss_slot_times times;
    struct ss_error *err;
    struct ss_cache *cache; /* NULL: spans are not kept */
};

static double work_of(const struct timing *t, int lane, int rank, int from, int to)
{
    double sum = 0;
    for (int i = from; i < to && t->times.timer; i++)
        sum += t->times.timer(t->times.ctx[lane], rank, &t->s->slots[rank][i]);
    return sum;
}

/* Checks and runs; *work is the caller's, zero for each rank and lane, and may be NULL. */
static int run(const struct timing *t, const struct ss_schedule *s, double *work, double *const *starts,
               double *const *ends)
{
    SS_TRY(s->sound ? SS_OK : ss_schedule_check(s, t->err));
    int *at = ss_calloc((size_t)s->stages, sizeof *at);
    int rc = at ? ss_schedule_relax(s, &t->times, at, work, starts, ends, t->err) : ss_nomem(t->err);
    free(at);
    return rc;
}

int ss_schedule_times(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                      double *const *start, double *const *end, struct ss_error *err)
{
    struct durations d = {duration};
    void *ctx = &d;
    const struct timing t = {s, {duration ? slot_seconds : NULL, &ctx, 1, NULL}, err, NULL};
    return run(&t, s, NULL, start, end);
}

/* ---- when ranks begin and end, and their work over all turns of a loop ---- */

/* Of the turns of a loop that were run, and what one more turn adds. Arrays are [stages * lanes], in s; the caller frees `first`. */
struct spans {
    double *first, *end, *work, *turn; /* turn: work of a turn */
    double step[SS_SLOT_LANES];        /* by which each turn is later than the one before */
    int more[SS_SLOT_LANES];           /* turns beyond the first; -1: not known yet */
};

static size_t spans_room(const struct timing *t)
{
    return (size_t)t->s->stages * (size_t)t->times.n;
}

static int spans_init(const struct timing *t, struct spans *x)
{
    size_t n = spans_room(t);
    *x = (struct spans){.first = ss_calloc(4 * n, sizeof *x->first), .more = {-1, -1}};
    SS_NEED(x->first, t->err);
    x->end = x->first + n;
    x->work = x->end + n;
    x->turn = x->work + n;
    return SS_OK;
}

/* Start and end of every slot; the caller frees start[0] and start. */
static int make_rows(const struct timing *t, const struct ss_schedule *s, double ***start, double ***end)
{
    size_t p = (size_t)s->stages, n = 0, lanes = (size_t)t->times.n;
    for (size_t r = 0; r < p; r++)
        n += lanes * (size_t)s->nslots[r];
    double *times = malloc((2 * n + 1) * sizeof *times), **rows = ss_calloc(2 * p, sizeof *rows);
    if (!times || !rows) {
        SS_FREE(times, rows);
        return ss_nomem(t->err);
    }
    *start = rows;
    *end = rows + p;
    for (size_t r = 0; r < p; times += 2 * lanes * (size_t)s->nslots[r++]) {
        rows[r] = times;
        rows[p + r] = times + lanes * (size_t)s->nslots[r];
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
static int is_settled(const struct timing *t, double *const *end, int lane, int turns, int lag, double *step)
{
    const struct ss_schedule *s = t->s;
    int n = t->times.n, length = s->loop_length, last = s->loop_first[0] + turns * length - 1;
    *step = (end[0][last * n + lane] - end[0][(last - lag * length) * n + lane]) / lag;
    for (int r = 0; r < s->stages; r++) {
        const double *at = end[r] + (s->loop_first[r] + (turns - lag) * length) * n + lane;
        for (int i = 0; i < lag * length; i++)
            if (!(fabs(at[i * n] - at[(i - length) * n] - *step) <= SAME * at[i * n]))
                return 0;
    }
    return 1;
}

/* A lane of the schedule that was run; rest: turns that are missing. */
static void fill_spans(const struct timing *t, const struct ss_schedule *ran, int lane, int rest,
                       double *const *start, double *const *end, const double *work, struct spans *x)
{
    const struct ss_schedule *s = t->s;
    for (int r = 0, n = t->times.n; r < s->stages; r++) {
        int at = r * n + lane, slots = ran->nslots[r];
        x->first[at] = slots ? start[r][lane] : 0;
        x->end[at] = slots ? end[r][(slots - 1) * n + lane] : 0;
        x->work[at] = work[at];
        if (rest)
            x->turn[at] = work_of(t, lane, r, s->loop_first[r], s->loop_first[r] + s->loop_length);
    }
    x->more[lane] = s->loop_more - rest;
}

/* With `more` turns beyond the first. 1: the others follow from these, or there are no others, in all lanes; 0: not yet. */
static int try_turns(const struct timing *t, int more, struct spans *x)
{
    const struct ss_schedule *s = t->s;
    const int n = t->times.n, lag = s->loop_more ? lag_of(s) : 0, rest = s->loop_more - more;
    struct ss_schedule *few = NULL;
    double **start = NULL, **end = NULL;
    double *work = ss_calloc((size_t)s->stages * (size_t)n, sizeof *work);
    int rc = work ? SS_OK : ss_nomem(t->err), all = 1;
    if (!rc && s->loop_more)
        rc = ss_schedule_turns(s, more, &few, t->err);
    SS_THEN(rc, make_rows(t, few ? few : s, &start, &end));
    SS_THEN(rc, run(t, few ? few : s, work, start, end));
    for (int lane = 0; lane < n && !rc; lane++) {
        if (x->more[lane] < 0 && (!rest || is_settled(t, end, lane, more + 1, lag, &x->step[lane])))
            fill_spans(t, few ? few : s, lane, rest, start, end, work, x);
        all &= x->more[lane] >= 0;
    }
    if (start)
        free(start[0]);
    SS_FREE(start, work);
    ss_schedule_free(few);
    return rc ? rc : all;
}

static int run_turns(const struct timing *t, struct spans *x)
{
    int more = t->s->loop_more ? lag_of(t->s) : 0, done = 0;
    for (; !done; more *= 4)
        done = try_turns(t, more < t->s->loop_more ? more : t->s->loop_more, x);
    return done < 0 ? done : SS_OK;
}

static void add_turns(const struct timing *t, struct spans *x)
{
    for (int r = 0, n = t->times.n; r < t->s->stages; r++)
        for (int lane = 0; lane < n; lane++) {
            int rest = t->s->loop_more - x->more[lane];
            if (!rest)
                continue;
            x->end[r * n + lane] += rest * x->step[lane];
            x->work[r * n + lane] += rest * x->turn[r * n + lane];
        }
}

static int find_spans(const struct timing *t, struct spans *x)
{
    int rc = spans_init(t, x);
    SS_THEN(rc, run_turns(t, x));
    if (!rc)
        add_turns(t, x);
    return rc;
}

/* ---- spans kept for schedules that differ in turns of their loop alone ---- */

static void mix_real(struct ss_cache_key *key, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    ss_cache_mix(key, bits);
}

/* All that spans depend on, but for how often the loop runs. Slots of a pair are not in the table. */
static struct ss_cache_key key_of(const struct timing *t)
{
    const struct ss_schedule *s = t->s;
    const int n = t->times.n, chunks = s->chunks, numbers[] = {s->loop_length, s->loop_step, n};
    struct ss_cache_key key = ss_cache_key(SS_CACHE_SPANS);
    ss_cache_mix(&key, s->kept[0]);
    ss_cache_mix(&key, s->kept[1]);
    ss_cache_mix_ints(&key, numbers, 3);
    ss_cache_mix_ints(&key, s->loop_first, s->stages);
    for (int i = 0; i < s->stages * SS_PHASE_FB * chunks * n; i++)
        mix_real(&key, t->times.table[i]);
    for (int i = 0; i < s->stages * chunks * chunks * n; i++) {
        const struct ss_slot pair = {
            .phase = SS_PHASE_FB, .chunk = i / n % chunks, .chunk2 = i / n / chunks % chunks};
        mix_real(&key, t->times.timer(t->times.ctx[i % n], i / n / chunks / chunks, &pair));
    }
    return key;
}

static int take_spans(const struct timing *t, struct ss_cache_key key, struct spans *x)
{
    const struct spans *kept = ss_cache_take(t->cache, key);
    int serves = kept != NULL;
    for (int lane = 0; lane < t->times.n && serves; lane++)
        serves = kept->more[lane] < t->s->loop_more;
    if (serves) {
        memcpy(x->first, kept->first, 4 * spans_room(t) * sizeof *x->first);
        memcpy(x->step, kept->step, sizeof x->step);
        memcpy(x->more, kept->more, sizeof x->more);
    }
    if (kept)
        ss_cache_give_back(t->cache, key);
    return serves;
}

static void free_spans(void *thing)
{
    struct spans *x = thing;
    SS_FREE(x->first, x);
}

/* Keeps spans of turns that later ones follow from. Where memory runs out the next one finds them again. */
static void keep_spans(const struct timing *t, struct ss_cache_key key, const struct spans *x)
{
    size_t bytes = 4 * spans_room(t) * sizeof *x->first;
    for (int lane = 0; lane < t->times.n; lane++)
        if (x->more[lane] == t->s->loop_more)
            return;
    struct spans *kept = calloc(1, sizeof *kept);
    if (!kept)
        return;
    *kept = *x;
    kept->first = malloc(bytes);
    if (!kept->first || ss_cache_put(t->cache, key, kept, sizeof *kept + bytes, free_spans)) {
        free_spans(kept);
        return;
    }
    memcpy(kept->first, x->first, bytes);
    ss_cache_give_back(t->cache, key);
}

static int find_spans_kept(const struct timing *t, struct spans *x)
{
    if (!t->cache || !t->s->kept[0] || !t->s->loop_more || !t->times.table)
        return find_spans(t, x);
    const struct ss_cache_key key = key_of(t);
    int rc = spans_init(t, x);
    if (!rc && !take_spans(t, key, x)) {
        rc = run_turns(t, x);
        if (!rc)
            keep_spans(t, key, x);
    }
    if (!rc)
        add_turns(t, x);
    return rc;
}

/* Does so where slots of one rank, phase and chunk are alike: the timer is asked once for each. */
static int find_spans_by_table(struct timing t, struct spans *x)
{
    const int chunks = t.s->chunks, n = t.times.n;
    *x = (struct spans){0};
    if (t.times.timer) {
        t.times.table = ss_calloc((size_t)(t.s->stages * SS_PHASE_FB * chunks * n), sizeof *t.times.table);
        SS_NEED(t.times.table, t.err);
    }
    double *to = t.times.table;
    for (int r = 0; to && r < t.s->stages; r++)
        for (int phase = 0; phase < SS_PHASE_FB; phase++)
            for (int k = 0; k < chunks; k++)
                for (int lane = 0; lane < n; lane++)
                    *to++ =
                        t.times.timer(t.times.ctx[lane], r, &(struct ss_slot){.phase = phase, .chunk = k});
    int rc = find_spans_kept(&t, x);
    free(t.times.table);
    return rc;
}

/* Tells what spans that were found say, rc 0, and frees them. */
static int tell(int rc, const struct timing *t, struct spans *x, double *makespan, double *idle)
{
    const int n = t->times.n, stages = t->s->stages;
    for (int i = 0; i < n && !rc; i++) {
        for (int r = 0; r < stages; r++)
            makespan[i] = r == 0 || x->end[r * n + i] > makespan[i] ? x->end[r * n + i] : makespan[i];
        for (int r = 0; idle && r < stages; r++)
            idle[i * stages + r] = makespan[i] - x->work[r * n + i];
    }
    free(x->first);
    return rc;
}

int ss_schedule_makespans_kept(const struct ss_schedule *s, ss_slot_timer timer, void *const ctx[2],
                               struct ss_cache *cache, double makespan[2], double *idle, struct ss_error *err)
{
    const struct timing t = {s, {timer, ctx, SS_SLOT_LANES, NULL}, err, cache};
    struct spans x;
    return tell(find_spans_by_table(t, &x), &t, &x, makespan, idle);
}

int ss_schedule_makespans(const struct ss_schedule *s, ss_slot_timer timer, void *const ctx[2],
                          double makespan[2], double *idle, struct ss_error *err)
{
    return ss_schedule_makespans_kept(s, timer, ctx, NULL, makespan, idle, err);
}

int ss_schedule_makespan_timed(const struct ss_schedule *s, ss_slot_timer timer, void *ctx, double *makespan,
                               double *idle, struct ss_error *err)
{
    const struct timing t = {s, {timer, &ctx, 1, NULL}, err, NULL};
    struct spans x;
    return tell(find_spans(&t, &x), &t, &x, makespan, idle);
}

int ss_schedule_makespan_kept(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                              struct ss_cache *cache, double *makespan, double *idle, struct ss_error *err)
{
    struct durations d = {duration};
    void *ctx = &d;
    const struct timing t = {s, {duration ? slot_seconds : NULL, &ctx, 1, NULL}, err, cache};
    struct spans x;
    return tell(find_spans_by_table(t, &x), &t, &x, makespan, idle);
}

int ss_schedule_makespan(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                         double *makespan, double *idle, struct ss_error *err)
{
    return ss_schedule_makespan_kept(s, duration, NULL, makespan, idle, err);
}

int ss_schedule_bubble(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                       double *bubble, struct ss_error *err)
{
    struct durations d = {duration};
    void *ctx = &d;
    const struct timing t = {s, {duration ? slot_seconds : NULL, &ctx, 1, NULL}, err, NULL};
    struct spans x;
    int rc = find_spans_by_table(t, &x);
    for (int r = 0; !rc && r < s->stages; r++)
        bubble[r] = x.end[r] - x.first[r] - x.work[r];
    free(x.first);
    return rc;
}

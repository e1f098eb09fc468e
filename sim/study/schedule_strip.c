/* SPDX-License-Identifier: Apache-2.0 */
/* Finds when the ranks of a schedule run its slots, by their times or in a replay, for a picture. */
#include "study/schedule_strip.h"
#include "base/base.h"
#include "report/follow.h"

int ss_strip_add(struct ss_schedule_strip *strip, struct ss_slot_time slot)
{
    if (ss_grow(&strip->slots, &strip->cap, strip->n + 1, sizeof *strip->slots))
        return SS_ERR_NOMEM;
    strip->slots[strip->n++] = slot;
    return SS_OK;
}

void ss_strip_free(struct ss_schedule_strip *strip)
{
    if (strip)
        free(strip->slots);
    free(strip);
}

struct ss_schedule_strip *ss_strip_new(int stages, int chunks)
{
    struct ss_schedule_strip *strip = ss_calloc(1, sizeof *strip);
    if (strip) {
        strip->stages = stages;
        strip->chunks = chunks;
    }
    return strip;
}

static int by_rank(const void *a, const void *b)
{
    const struct ss_slot_time *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

void ss_strip_sort(struct ss_schedule_strip *strip)
{
    if (strip->n)
        qsort(strip->slots, strip->n, sizeof *strip->slots, by_rank);
}

int ss_strip_of_times(const struct ss_schedule *s, const double *const *duration,
                      struct ss_schedule_strip **out, struct ss_error *err)
{
    size_t p = (size_t)s->stages, n = 0, at = 0;
    for (size_t r = 0; r < p; r++)
        n += (size_t)s->nslots[r];
    double *room = ss_calloc(2 * n + 1, sizeof *room), **start = ss_calloc(2 * p, sizeof *start);
    struct ss_schedule_strip *strip = ss_strip_new(s->stages, s->chunks);
    int rc = room && start && strip ? SS_OK : SS_ERR_NOMEM;
    for (size_t r = 0; !rc && r < p; at += (size_t)s->nslots[r++]) {
        start[r] = room + at;
        start[p + r] = room + n + at;
    }
    SS_THEN(rc, ss_schedule_times(s, duration, start, start ? start + p : NULL, err));
    for (int r = 0; !rc && r < s->stages; r++)
        for (int i = 0; !rc && i < s->nslots[r]; i++) {
            const struct ss_slot *slot = &s->slots[r][i];
            rc = ss_strip_add(strip, (struct ss_slot_time){r, slot->phase, slot->chunk, slot->microbatch,
                                                           slot->chunk2, slot->microbatch2, start[r][i],
                                                           start[p + (size_t)r][i]});
        }
    SS_FREE(room, start);
    if (rc)
        ss_strip_free(strip);
    else
        *out = strip;
    return rc == SS_ERR_NOMEM ? ss_fail(err, rc, NULL, 0, "no memory to draw %s", s->name) : rc;
}

/* ---- as replayed ---- */

struct collector {
    const struct ss_program *program;
    struct ss_schedule_strip *strip;
    int *rank;      /* [class]: stage that it stands for, -1: another one does */
    int *last_slot; /* [class] */
    size_t *last;   /* [class]: its last slot in the strip */
    int failed;
};

static void on_span(void *ctx, int cls, int slot, int event, double start, double busy_from, double end)
{
    struct collector *x = ctx;
    const struct ss_program_slot *s = &x->program->classes[cls].slots[slot];
    (void)busy_from;
    if (x->rank[cls] < 0 || x->failed || ss_place_event(x->program, cls, slot, event)->kind != SS_EV_COMPUTE)
        return;
    if (x->last_slot[cls] == slot) {
        x->strip->slots[x->last[cls]].end = end;
        return;
    }
    x->failed = ss_strip_add(x->strip, (struct ss_slot_time){x->rank[cls], s->phase, s->chunk, s->microbatch,
                                                             -1, -1, start, end}) != 0;
    x->last_slot[cls] = slot;
    x->last[cls] = x->strip->n - 1;
}

static int collect(const struct ss_program *program, struct collector *x, struct ss_error *err)
{
    const struct ss_observer observer = {.ctx = x, .span = on_span};
    for (int c = 0; c < program->nclasses; c++) {
        x->rank[c] = program->classes[c].stage;
        x->last_slot[c] = -1;
        for (int k = 0; k < c; k++)
            if (program->classes[k].stage == program->classes[c].stage)
                x->rank[c] = -1;
    }
    int rc = ss_replay(program, SS_ENGINE_NATIVE, &observer, 1, NULL, err);
    return !rc && x->failed ? SS_ERR_NOMEM : rc;
}

/* Notes the backwards of pairs, of which a program has no number: the n-th pair of a rank is that of the schedule. */
static int name_pairs(struct ss_schedule_strip *strip, const struct ss_schedule *s)
{
    struct ss_schedule *whole = NULL;
    int rank = -1, at = 0, rc = ss_schedule_copy(s, &whole, NULL);

    for (size_t i = 0; !rc && i < strip->n; i++) {
        struct ss_slot_time *t = &strip->slots[i];
        at = t->rank == rank ? at : 0;
        rank = t->rank;
        if (t->phase != SS_PHASE_FB || rank >= whole->stages)
            continue;
        while (at < whole->nslots[rank] && whole->slots[rank][at].phase != SS_PHASE_FB)
            at++;
        if (at < whole->nslots[rank]) {
            t->chunk2 = whole->slots[rank][at].chunk2;
            t->microbatch2 = whole->slots[rank][at++].microbatch2;
        }
    }
    ss_schedule_free(whole);
    return rc;
}

int ss_strip_of_program(const struct ss_program *program, const struct ss_schedule *schedule, int stages,
                        int chunks, struct ss_schedule_strip **out, struct ss_error *err)
{
    size_t n = (size_t)program->nclasses + 1;
    struct collector x = {.program = program, .strip = ss_strip_new(stages, chunks)};
    x.rank = ss_calloc(2 * n, sizeof *x.rank);
    x.last = ss_calloc(n, sizeof *x.last);
    int rc = x.strip && x.rank && x.last ? SS_OK : SS_ERR_NOMEM;
    if (!rc) {
        x.last_slot = x.rank + n;
        rc = collect(program, &x, err);
    }
    if (!rc) {
        ss_strip_sort(x.strip);
        rc = name_pairs(x.strip, schedule);
    }
    SS_FREE(x.rank, x.last);
    if (rc)
        ss_strip_free(x.strip);
    else
        *out = x.strip;
    return rc == SS_ERR_NOMEM ? ss_fail(err, rc, NULL, 0, "no memory to draw %s", program->name) : rc;
}

int ss_strips_svg(const void *rows, int n, ss_strip_row *fill, int cluster, double width, FILE *out,
                  struct ss_error *err)
{
    struct ss_schedule_strip *strips = ss_calloc((size_t)n + 1, sizeof *strips);
    int drawn = 0, rc;
    SS_NEED(strips, err);
    for (int i = 0; i < n; i++) {
        struct ss_schedule_strip shown = {0};
        const struct ss_summary *summary;
        const struct ss_schedule_strip *strip = fill(rows, i, &shown, &summary);
        if (!strip)
            continue;
        strips[drawn] = *strip; /* its slots stay the row's */
        ss_copy(strips[drawn].name, sizeof strips[drawn].name, shown.name);
        strips[drawn].kept = shown.kept;
        strips[drawn].length = summary->iteration_s;
        strips[drawn++].bubble_fraction = summary->bubble_fraction;
    }
    rc = ss_schedules_svg(strips, drawn, cluster, width, out, err);
    free(strips);
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* From a building block to V-Min and V-Half, as the reordering of zero-bubble does it: W fills free steps, and passes before
 * the first microbatch is back, and behind its last forward, move to earlier free steps while no rank needs more memory than
 * the most that any needed. This runs twice: with W as a pass of its own that moves too, then with W as what fills any free
 * step; in between and behind it all idle steps that nothing needs are squeezed out. */
#include "base/base.h"
#include "schedule/v_block.h"

struct reorder {
    struct ss_block b;
    int *owed;   /* [rank * steps + step]: W that wait behind the step, where W has no cells */
    int *last_w; /* [rank]: step of the last W */
};

static int is_gradient(int kind)
{
    return kind == SS_BLOCK_I0 || kind == SS_BLOCK_I1;
}

/* W in each free step while one is owed. */
static void put_w(struct ss_block *b)
{
    for (int r = 0; r < b->p; r++)
        for (int t = 0, owed = 0, left = 2 * b->m; left; t++) {
            char *cell = ss_block_cell(b, r, t);
            owed += is_gradient(*cell - 1);
            if (*cell || !owed)
                continue;
            *cell = SS_BLOCK_W1 + 1;
            owed--;
            left--;
        }
}

/* Memory of a rank from step `from` on, W in every free step; returns the most that it keeps there. */
static int fill(struct reorder *x, int rank, int from)
{
    struct ss_block *b = &x->b;
    size_t row = (size_t)rank * (size_t)b->steps;
    int now = from ? b->memory[row + (size_t)from - 1] : 0, owed = from ? x->owed[row + (size_t)from - 1] : 0,
        most = 0;
    for (int t = from; t < b->steps; t++) {
        int kind = *ss_block_cell(b, rank, t) - 1;
        if (kind < 0 && owed) {
            owed--;
            now--;
        }
        now += kind == SS_BLOCK_F0 || kind == SS_BLOCK_F1;
        owed += is_gradient(kind);
        b->memory[row + (size_t)t] = now;
        x->owed[row + (size_t)t] = owed;
        most = now > most ? now : most;
    }
    return most;
}

/* The gradient that the n-th W waits for is the n-th of the rank, of either chunk. */
static int ready_w(const struct reorder *x, int rank, int n, int step)
{
    const struct ss_block *b = &x->b;
    const int *met = &b->counted[rank * SS_BLOCK_KINDS];
    int back = met[SS_BLOCK_I0] + met[SS_BLOCK_I1] - n, t = step;
    while (back)
        back -= is_gradient(*ss_block_cell(b, rank, --t) - 1);
    return t + 1 > x->last_w[rank] + 1 ? t + 1 : x->last_w[rank] + 1;
}

/* Where a pass goes: W has a cell. */
static int place_with_w(const struct reorder *x, int kind, int rank, int mb, int step)
{
    int ready = kind == SS_BLOCK_W1 ? ready_w(x, rank, mb, step) : ss_block_ready(&x->b, kind, rank, mb);
    return ss_block_earliest(&x->b, rank, step, ready, 1);
}

/* Places a pass while W has no cells: each step is tried, because it changes which steps W may fill. */
static int place_without_w(struct reorder *x, int kind, int rank, int mb, int step)
{
    struct ss_block *b = &x->b;
    for (int t = ss_block_ready(b, kind, rank, mb); t < step; t++) {
        if (*ss_block_cell(b, rank, t))
            continue;
        *ss_block_cell(b, rank, t) = (char)(kind + 1);
        *ss_block_cell(b, rank, step) = 0;
        int fits = fill(x, rank, t) <= b->peak;
        *ss_block_cell(b, rank, t) = 0;
        *ss_block_cell(b, rank, step) = (char)(kind + 1);
        if (fits)
            return t;
        fill(x, rank, t);
    }
    return step;
}

static void place(struct reorder *x, int kind, int rank, int mb, int step, int with_w)
{
    int to = with_w ? place_with_w(x, kind, rank, mb, step) : place_without_w(x, kind, rank, mb, step);
    if (with_w)
        ss_block_move(&x->b, rank, step, to);
    else {
        *ss_block_cell(&x->b, rank, step) = 0;
        *ss_block_cell(&x->b, rank, to) = (char)(kind + 1);
        fill(x, rank, to);
    }
    if (kind == SS_BLOCK_W1)
        x->last_w[rank] = to;
    else
        *ss_block_step(&x->b, kind, rank, mb) = to;
}

static void move_all(struct reorder *x, int with_w)
{
    struct ss_block *b = &x->b;
    enum { BEFORE, STEADY, BEHIND } part = BEFORE;
    ss_block_walk(b);
    for (int r = 0; r < b->p; r++)
        x->last_w[r] = -1;
    for (int t = 0; t < b->steps; t++)
        for (int r = 0; r < b->p; r++) {
            int kind = *ss_block_cell(b, r, t) - 1;
            if (kind < 0)
                continue;
            int mb = ss_block_meet(b, kind, r);
            if (part == BEFORE && kind == SS_BLOCK_I0 && r == 0)
                part = STEADY;
            int stays = part == STEADY || (part == BEFORE && !with_w);
            if (part == STEADY && kind == SS_BLOCK_F0 && mb == b->m - 1)
                part = BEHIND;
            if (!stays)
                place(x, kind, r, mb, t, with_w);
            else if (kind == SS_BLOCK_W1)
                x->last_w[r] = t;
        }
}

/* Moves every pass as early as its rank and its inputs allow, in the same order. W has cells, and loses
 * them. */
static void squeeze(struct reorder *x)
{
    struct ss_block *b = &x->b;
    int *next = x->last_w;
    memset(next, 0, (size_t)b->p * sizeof *next);
    ss_block_walk(b);
    for (int t = 0; t < b->steps; t++)
        for (int r = 0; r < b->p; r++) {
            int kind = *ss_block_cell(b, r, t) - 1, start = next[r];
            if (kind < 0)
                continue;
            *ss_block_cell(b, r, t) = 0;
            next[r]++;
            if (kind == SS_BLOCK_W1)
                continue;
            int mb = ss_block_meet(b, kind, r), ready = ss_block_ready(b, kind, r, mb);
            start = ready > start ? ready : start;
            next[r] = start + 1;
            *ss_block_cell(b, r, start) = (char)(kind + 1);
            *ss_block_step(b, kind, r, mb) = start;
        }
}

static void reorder(struct reorder *x)
{
    struct ss_block *b = &x->b;
    put_w(b);
    ss_block_weigh(b);
    move_all(x, 1);
    squeeze(x);
    b->peak = 0;
    for (int r = 0; r < b->p; r++) {
        int most = fill(x, r, 0);
        b->peak = most > b->peak ? most : b->peak;
    }
    move_all(x, 0);
    put_w(b);
    squeeze(x);
}

static int make(struct reorder *x, const struct ss_schedule_params *params)
{
    int p = params->stages;
    SS_TRY(ss_block_make(&x->b, p, params->microbatches, 6 * p + 8));
    x->owed = ss_calloc((size_t)p * (size_t)x->b.steps, sizeof *x->owed);
    x->last_w = ss_calloc((size_t)p, sizeof *x->last_w);
    return x->owed && x->last_w ? SS_OK : SS_ERR_NOMEM;
}

int ss_block_build(const char *name, const struct ss_schedule_params *params, ss_block_pattern pattern,
                   struct ss_schedule **out, struct ss_error *err)
{
    int p = params->stages, m = params->microbatches, rc = ss_schedule_need_chunks(name, params, 2, err);
    struct reorder x = {.owed = NULL};
    struct ss_order o;
    if (!rc && make(&x, params))
        rc = ss_nomem(err);
    SS_THEN(rc, ss_order_begin(&o, name, params, 6 * m, err));
    for (int r = 0; !rc && r < p; r++) {
        int first[4];
        pattern(p, r, first);
        for (int kind = 0; kind < 4; kind++)
            ss_block_repeat(&x.b, kind, r, first[kind]);
    }
    if (!rc) {
        reorder(&x);
        ss_schedule_place_v(o.s);
        for (int r = 0; r < p; r++) {
            ss_order_rank(&o, r);
            ss_block_order(&x.b, &o, r);
        }
        ss_schedule_count_warmup(o.s);
        ss_order_end(&o);
        *out = o.s;
    }
    ss_block_free(&x.b);
    SS_FREE(x.owed, x.last_w);
    return rc;
}

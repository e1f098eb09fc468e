/* SPDX-License-Identifier: Apache-2.0 */
/* From the cells of a file to a schedule: who holds which virtual stage, and the slots in order. */
#include "base/base.h"
#include "schedule/file.h"

struct assembly {
    const struct ss_action_table *t;
    int stages, microbatches; /* virtual stages of all pipelines */
    int64_t computed;         /* F, B, I, W; a pair counts as two */
    int *rank_of, *chunk_of;  /* [stages], -1 = nowhere */
    struct ss_schedule *s;
};

static bool computes(const struct ss_action *a)
{
    return a->kind <= SS_ACTION_PAIR;
}

static void count_action(struct assembly *x, const struct ss_action *a)
{
    int stage = a->stage > a->stage2 ? a->stage : a->stage2;
    int mb = a->microbatch > a->microbatch2 ? a->microbatch : a->microbatch2;
    if (stage >= x->stages)
        x->stages = stage + 1;
    if (mb >= x->microbatches)
        x->microbatches = mb + 1;
    x->computed += a->kind == SS_ACTION_PAIR ? 2 : 1;
}

static int measure(struct assembly *x)
{
    const struct ss_action_table *t = x->t;
    for (size_t r = 0; r < t->rows; r++) {
        int64_t before = x->computed;
        for (size_t i = 0; i < t->row[r].n; i++)
            if (computes(&t->row[r].action[i]))
                count_action(x, &t->row[r].action[i]);
        if (x->computed > before)
            continue;
        return ss_fail(t->err, SS_ERR_INPUT, t->file, t->row[r].line,
                       "rank %zu computes nothing" SS_HINT
                       "every rank holds at least one stage: a row a rank, from rank 0",
                       r);
    }
    if (!t->rows)
        return ss_fail(t->err, SS_ERR_INPUT, t->file, 0,
                       "a schedule without actions" SS_HINT "a row a rank, cells as 0F0,0F1,0B0,0B1");
    /* Also keeps what a slip of one digit would make the arrays below within the file's own size. */
    if (2 * (int64_t)x->stages * x->microbatches > x->computed)
        return ss_fail(
            t->err, SS_ERR_INPUT, t->file, 0,
            "%d virtual stages with %d microbatches need at least %lld actions, but there are %lld" SS_HINT
            "each stage runs F and B (or I and W) of each microbatch; a number may be mistyped",
            x->stages, x->microbatches, 2 * (long long)x->stages * x->microbatches, (long long)x->computed);
    return SS_OK;
}

static int claim(struct assembly *x, const struct ss_action *a, int stage, int rank)
{
    if (x->rank_of[stage] >= 0 && x->rank_of[stage] != rank)
        return ss_action_fail(x->t, a, "stage %d runs on rank %d, but also on rank %d", stage, rank,
                              x->rank_of[stage]);
    x->rank_of[stage] = rank;
    return SS_OK;
}

/* Stages of a rank get its chunks in ascending order. */
static int place(struct assembly *x, int *chunks)
{
    int rc = SS_OK, p = (int)x->t->rows;
    for (int r = 0; r < p; r++)
        for (size_t i = 0; i < x->t->row[r].n && !rc; i++) {
            const struct ss_action *a = &x->t->row[r].action[i];
            if (computes(a))
                rc = claim(x, a, a->stage, r);
            if (!rc && a->kind == SS_ACTION_PAIR)
                rc = claim(x, a, a->stage2, r);
        }
    for (int v = 0; v < x->stages && !rc; v++) {
        if (x->rank_of[v] < 0)
            return ss_fail(x->t->err, SS_ERR_INPUT, x->t->file, 0, "no rank runs virtual stage %d of %d", v,
                           x->stages);
        x->chunk_of[v] = chunks[x->rank_of[v]]++;
    }
    for (int r = 1; r < p && !rc; r++)
        if (chunks[r] != chunks[0])
            rc = ss_fail(x->t->err, SS_ERR_UNSUPPORTED, x->t->file, x->t->row[r].line,
                         "rank %d holds %d virtual stages and rank 0 holds %d" SS_HINT
                         "give every rank the same number",
                         r, chunks[r], chunks[0]);
    if (!rc && x->stages % x->t->pipelines)
        rc = ss_fail(x->t->err, SS_ERR_INPUT, x->t->file, 0, "%d virtual stages do not make %d pipelines",
                     x->stages, x->t->pipelines);
    return rc;
}

static int make_source(struct assembly *x)
{
    size_t p = x->t->rows;
    struct ss_schedule_source *source = ss_calloc(1, sizeof *source);
    SS_NEED(source, x->t->err);
    x->s->source = source;
    ss_copy(source->file, sizeof source->file, x->t->file);
    source->stages = (int)p;
    source->line = ss_calloc(p, sizeof *source->line);
    source->column = ss_calloc(p, sizeof *source->column);
    return source->line && source->column ? SS_OK : ss_nomem(x->t->err);
}

static int fill_rank(struct assembly *x, size_t rank)
{
    const struct ss_action_row *row = &x->t->row[rank];
    struct ss_schedule *s = x->s;
    int n = 0, forwards = 0;
    struct ss_slot *slots = realloc(s->slots[rank], (row->n + 1) * sizeof *slots);
    if (slots)
        s->slots[rank] = slots;
    s->source->line[rank] = ss_calloc(row->n, sizeof **s->source->line);
    s->source->column[rank] = ss_calloc(row->n, sizeof **s->source->column);
    SS_NEED(slots && s->source->line[rank] && s->source->column[rank], x->t->err);
    for (size_t i = 0; i < row->n; i++) {
        static const int phase[] = {SS_PHASE_F, SS_PHASE_B, SS_PHASE_I, SS_PHASE_W, SS_PHASE_FB};
        const struct ss_action *a = &row->action[i];
        if (!computes(a))
            continue;
        int chunk2 = a->kind == SS_ACTION_PAIR ? x->chunk_of[a->stage2] : -1;
        slots[n] =
            (struct ss_slot){phase[a->kind], x->chunk_of[a->stage], a->microbatch, chunk2, a->microbatch2};
        forwards += forwards == n && a->kind == SS_ACTION_F;
        s->source->line[rank][n] = a->line;
        s->source->column[rank][n++] = a->column;
    }
    s->nslots[rank] = n;
    s->warmup[rank] = forwards;
    return SS_OK;
}

/* The policies that Megatron's loops imply know three parts: forwards, pairs of F and B, backwards. */
static int check_three_parts(const struct ss_action_table *t, const struct ss_schedule *s, int rank)
{
    int total = s->chunks * s->microbatches, warmup = s->warmup[rank];
    for (int i = 0; i < s->nslots[rank]; i++) {
        int steady = i >= warmup && i < 2 * total - warmup;
        int phase = steady       ? ((i - warmup) % 2 ? SS_PHASE_B : SS_PHASE_F)
                    : i < warmup ? SS_PHASE_F
                                 : SS_PHASE_B;
        if (s->slots[rank][i].phase == phase)
            continue;
        return ss_fail(t->err, SS_ERR_INPUT, t->file, s->source->line[rank][i],
                       "p2p %s: rank %d slot %d is not what follows %d forwards of warm-up" SS_HINT
                       "these policies are for 1F1B orders; use p2p async",
                       ss_p2p_name(s->p2p), rank, i, warmup);
    }
    return SS_OK;
}

static int take_policy(struct assembly *x)
{
    const struct ss_action_table *t = x->t;
    x->s->p2p = t->p2p;
    if (t->nwarmup && t->nwarmup != t->rows)
        return ss_fail(t->err, SS_ERR_INPUT, t->file, t->warmup_line, "warmup has %zu numbers for %zu ranks",
                       t->nwarmup, t->rows);
    if (t->p2p == SS_P2P_ASYNC)
        return SS_OK;
    if (!t->nwarmup)
        return ss_fail(t->err, SS_ERR_INPUT, t->file, 0, "p2p %s needs a line 'warmup'", ss_p2p_name(t->p2p));
    int rc = SS_OK;
    for (size_t r = 0; r < t->rows && !rc; r++) {
        x->s->warmup[r] = t->warmup[r];
        rc = check_three_parts(t, x->s, (int)r);
    }
    return rc;
}

static int assemble(struct assembly *x)
{
    size_t p = x->t->rows;
    int *chunks = ss_calloc(p, sizeof *chunks);
    x->rank_of = malloc((size_t)x->stages * sizeof *x->rank_of);
    x->chunk_of = ss_calloc((size_t)x->stages, sizeof *x->chunk_of);
    int rc = chunks && x->rank_of && x->chunk_of ? SS_OK : ss_nomem(x->t->err);
    for (int v = 0; !rc && v < x->stages; v++)
        x->rank_of[v] = -1;
    SS_THEN(rc, place(x, chunks));
    if (!rc) {
        struct ss_schedule_params params = {
            .stages = (int)p, .chunks = chunks[0], .microbatches = x->microbatches};
        x->s = ss_schedule_alloc(x->t->name, &params, 0);
        rc = x->s ? make_source(x) : ss_nomem(x->t->err);
    }
    free(chunks);
    if (rc)
        return rc;
    memcpy(x->s->virtual_rank, x->rank_of, (size_t)x->stages * sizeof *x->rank_of);
    memcpy(x->s->virtual_chunk, x->chunk_of, (size_t)x->stages * sizeof *x->chunk_of);
    x->s->pipelines = x->t->pipelines;
    for (size_t r = 0; r < p && !rc; r++)
        rc = fill_rank(x, r);
    SS_THEN(rc, ss_schedule_check(x->s, x->t->err));
    SS_THEN(rc, take_policy(x));
    return rc ? rc : ss_action_check(x->t, x->s);
}

int ss_action_assemble(const struct ss_action_table *t, struct ss_schedule **out)
{
    struct assembly x = {.t = t};
    int rc = measure(&x);
    SS_THEN(rc, assemble(&x));
    SS_FREE(x.rank_of, x.chunk_of);
    if (rc)
        ss_schedule_free(x.s);
    else
        *out = x.s;
    return rc;
}

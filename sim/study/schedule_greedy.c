/* SPDX-License-Identifier: Apache-2.0 */
/* Builds orders pass by pass: keeps what each rank has done and when, and places W. */
#include "study/schedule_greedy.h"
#include "base/base.h"
#include "schedule/builder.h"
#include "study/schedule_order.h"

int *ss_greedy_count(const struct ss_greedy *g, int rank, int phase, int chunk)
{
    int kind = phase == SS_PHASE_F ? 0 : phase == SS_PHASE_I ? 1 : 2;
    return &g->count[(rank * g->q->chunks + chunk) * 3 + kind];
}

static double *end_of(const struct ss_greedy *g, int phase, int stage, int mb)
{
    int stages = g->q->stages * g->q->chunks, back = phase == SS_PHASE_I;
    return &g->end[((size_t)back * (size_t)stages + (size_t)stage) * (size_t)g->q->microbatches + (size_t)mb];
}

double ss_greedy_input(const struct ss_greedy *g, int rank, int phase, int chunk)
{
    int stage = ss_search_stage(g->q, rank, chunk), mb = *ss_greedy_count(g, rank, phase, chunk);
    if (mb == g->q->microbatches)
        return -1;
    if (phase == SS_PHASE_F)
        return stage ? *end_of(g, SS_PHASE_F, stage - 1, mb) : 0;
    double own = *end_of(g, SS_PHASE_F, stage, mb);
    if (own < 0 || stage + 1 == g->q->stages * g->q->chunks)
        return own;
    double next = *end_of(g, SS_PHASE_I, stage + 1, mb);
    return next < 0 ? -1 : fmax(own, next);
}

static double more_memory(const struct ss_greedy *g, int at, int phase)
{
    if (phase == SS_PHASE_F)
        return g->q->activation[at];
    return phase == SS_PHASE_I ? g->q->weight[at] - g->q->activation[at] : -g->q->weight[at];
}

int ss_greedy_owed(const struct ss_greedy *g, int rank, int *next)
{
    int made = 0, done = 0;
    for (int c = 0; c < g->q->chunks; c++) {
        made += *ss_greedy_count(g, rank, SS_PHASE_I, c);
        done += *ss_greedy_count(g, rank, SS_PHASE_W, c);
    }
    if (made > done)
        *next = g->owed[rank * g->q->chunks * g->q->microbatches + done];
    return made - done;
}

static void append(struct ss_greedy *g, int rank, int phase, int chunk, double start)
{
    const struct ss_search *q = g->q;
    int at = rank * q->chunks + chunk, *count = ss_greedy_count(g, rank, phase, chunk), mb = (*count)++;
    const double *seconds = phase == SS_PHASE_F ? q->f : phase == SS_PHASE_I ? q->i : q->w;
    if (g->s->nslots[rank])
        g->bubble[rank] += start - g->now[rank];
    g->now[rank] = start + seconds[at];
    g->memory[rank] += more_memory(g, at, phase);
    if (phase != SS_PHASE_W)
        *end_of(g, phase, ss_search_stage(q, rank, chunk), mb) = g->now[rank];
    g->s->slots[rank][g->s->nslots[rank]++] = (struct ss_slot){phase, chunk, mb, -1, -1};
}

void ss_greedy_put(struct ss_greedy *g, int rank, int phase, int chunk)
{
    double input = ss_greedy_input(g, rank, phase, chunk);
    int room = g->q->chunks * g->q->microbatches, made = 0;
    g->failed |= input < 0;
    if (g->failed)
        return;
    if (phase == SS_PHASE_I) {
        for (int c = 0; c < g->q->chunks; c++)
            made += *ss_greedy_count(g, rank, SS_PHASE_I, c);
        g->owed[rank * room + made] = chunk;
    }
    append(g, rank, phase, chunk, fmax(input, g->now[rank]));
}

int ss_greedy_put_w(struct ss_greedy *g, int rank)
{
    int chunk, any = ss_greedy_owed(g, rank, &chunk);
    if (any)
        append(g, rank, SS_PHASE_W, chunk, g->now[rank]);
    return any > 0;
}

void ss_greedy_make_room(struct ss_greedy *g, int rank, int phase, int chunk)
{
    double more = more_memory(g, rank * g->q->chunks + chunk, phase);
    while (!g->failed && !ss_search_fits(g->q, rank, g->memory[rank] + more))
        g->failed = !ss_greedy_put_w(g, rank);
}

double ss_greedy_worst(const struct ss_greedy *g)
{
    double worst = 0;
    for (int r = 0; r < g->q->stages; r++)
        worst = fmax(worst, g->bubble[r]);
    return worst;
}

double ss_greedy_slack(const struct ss_greedy *g, int rank)
{
    return fmax(ss_greedy_worst(g), g->most_approved - g->approved[rank]) - g->bubble[rank];
}

void ss_greedy_fill(struct ss_greedy *g, int rank, int phase, int chunk, int small, int large)
{
    double input = ss_greedy_input(g, rank, phase, chunk);
    int next = 0;
    while (ss_greedy_owed(g, rank, &next) && g->now[rank] + g->q->w[rank * g->q->chunks + next] <= input)
        ss_greedy_put_w(g, rank);
    double gap = input - g->now[rank];
    if (gap > 0 && (gap <= ss_greedy_slack(g, rank) ? small : large))
        ss_greedy_put_w(g, rank);
}

void ss_greedy_begin(struct ss_greedy *g)
{
    const struct ss_search *q = g->q;
    size_t p = (size_t)q->stages, n = p * (size_t)q->chunks, all = n * (size_t)q->microbatches;
    for (size_t i = 0; i < 2 * all; i++)
        g->end[i] = -1;
    memset(g->count, 0, 3 * n * sizeof *g->count);
    memset(g->s->nslots, 0, p * sizeof *g->s->nslots);
    memset(g->now, 0, 3 * p * sizeof *g->now); /* now, memory, bubble */
    g->failed = 0;
}

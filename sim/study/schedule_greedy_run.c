/* SPDX-License-Identifier: Apache-2.0 */
/* Runs both generators. Every choice that their rules leave open is made both ways. */
#include "base/base.h"
#include "study/schedule_greedy.h"

#define MOST_RETRIES 50

static int finish(struct ss_greedy *g, ss_greedy_take take, void *user)
{
    for (int r = 0; r < g->q->stages && !g->failed; r++)
        while (ss_greedy_put_w(g, r))
            ;
    return g->failed ? SS_OK : take(user, g);
}

static int run_one_chunk(struct ss_greedy *g, ss_greedy_take take, void *user)
{
    int *numbers = ss_calloc((size_t)g->q->stages, sizeof *numbers), rc = numbers ? SS_OK : SS_ERR_NOMEM;
    for (int n = 0; n < 8 && !rc; n++) {
        ss_greedy_begin(g);
        ss_greedy_one(g, n, numbers);
        rc = finish(g, take, user);
    }
    free(numbers);
    return rc;
}

/* Repeats the generator as long as the worst rank idles less than before: the other ranks may then idle
 * as long from the start. */
static int run_v(struct ss_greedy *g, int fill_forward, int fill_backward, ss_greedy_take take, void *user)
{
    size_t size = (size_t)g->q->stages * sizeof *g->approved;
    double best = INFINITY;
    int rc = SS_OK;
    memset(g->approved, 0, size);
    g->most_approved = 0;
    for (int n = 0; n < MOST_RETRIES && !rc; n++) {
        ss_greedy_begin(g);
        rc = ss_greedy_v(g, fill_forward, fill_backward);
        SS_THEN(rc, finish(g, take, user));
        if (g->failed || ss_greedy_worst(g) >= best)
            break;
        best = g->most_approved = ss_greedy_worst(g);
        memcpy(g->approved, g->bubble, size);
    }
    return rc;
}

int ss_greedy_run(const struct ss_search *q, struct ss_schedule *s, ss_greedy_take take, void *user)
{
    size_t p = (size_t)q->stages, n = p * (size_t)q->chunks, all = n * (size_t)q->microbatches;
    struct ss_greedy g = {.q = q, .s = s};
    int rc = SS_OK;
    if (!q->split || (q->chunks > 1 && !q->v_shape))
        return SS_OK;
    g.end = ss_calloc(2 * all + 4 * p, sizeof *g.end);
    g.count = ss_calloc(3 * n + all, sizeof *g.count);
    if (!g.end || !g.count)
        rc = SS_ERR_NOMEM;
    if (!rc) {
        g.now = g.end + 2 * all;
        g.memory = g.now + p;
        g.bubble = g.memory + p;
        g.approved = g.bubble + p;
        g.owed = g.count + 3 * n;
        if (!q->v_shape)
            rc = run_one_chunk(&g, take, user);
        for (int k = 0; k < 4 && q->v_shape && !rc; k++)
            rc = run_v(&g, k & 1, k >> 1, take, user);
    }
    free(g.end);
    free(g.count);
    return rc;
}

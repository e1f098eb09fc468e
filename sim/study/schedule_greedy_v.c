/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generator of zero-bubble for a V of two chunks a rank (Qi et al., arXiv:2401.10241, section 6): the first microbatch comes
 * down and back while others follow as far as time and memory allow; then every rank in turn takes one gradient and one
 * forward, the second chunk's whenever its input is there.
 */
#include "base/base.h"
#include "study/schedule_greedy.h"
#include "study/schedule_order.h"

static int made(const struct ss_greedy *g, int rank, int phase, int chunk)
{
    return *ss_greedy_count(g, rank, phase, chunk);
}

/* Brings the first microbatch down and up again. While it is on its way to rank r, other microbatches
 * follow as far as r. */
static void first_comes_back(struct ss_greedy *g)
{
    const struct ss_search *q = g->q;
    int p = q->stages;
    for (int r = 0; r < p; r++)
        ss_greedy_put(g, r, SS_PHASE_F, 0);
    for (int r = p - 1; r >= 0; r--) {
        double back = ss_greedy_input(g, r, SS_PHASE_F, 1), one = q->activation[2 * r];
        while (r < p - 1 && ss_search_fits(q, r, g->memory[r] + one * (2 + 2 * r)) &&
               g->now[r] + q->f[2 * r] <= back && made(g, r, SS_PHASE_F, 0) < q->microbatches)
            for (int j = 0; j <= r; j++)
                ss_greedy_put(g, j, SS_PHASE_F, 0);
        ss_greedy_put(g, r, SS_PHASE_F, 1);
    }
}

static int is_behind(const struct ss_greedy *g, int r)
{
    int own = made(g, r, SS_PHASE_F, 0) + made(g, r, SS_PHASE_F, 1), second = made(g, r - 1, SS_PHASE_F, 1);
    return own < made(g, r - 1, SS_PHASE_F, 0) + second ||
           (made(g, r, SS_PHASE_F, 1) <= second && second < g->q->microbatches);
}

/* Lets later ranks take as many forwards as earlier ones, of each chunk in turn. */
static void catch_up(struct ss_greedy *g)
{
    int p = g->q->stages, chunk = 0;
    for (int r = 1; r < p; r++)
        for (int idle = 0; !g->failed && idle < 2 && is_behind(g, r); chunk = !chunk) {
            idle++;
            for (int j = p - 1; j >= r; j--)
                if (made(g, j, SS_PHASE_F, chunk) < g->q->microbatches) {
                    ss_greedy_put(g, j, SS_PHASE_F, chunk);
                    idle = 0;
                }
        }
}

/* Returns the chunk whose gradient a rank takes: the gradient of the second chunk comes first. */
static int chunk_of_gradient(const struct ss_greedy *g, int r)
{
    int m = g->q->microbatches, turned = made(g, r, SS_PHASE_I, 1), back = made(g, r, SS_PHASE_I, 0);
    if (back >= turned)
        return 1;
    return r == g->q->stages - 1 || turned >= m || made(g, r + 1, SS_PHASE_I, 0) > back ? 0 : 1;
}

static void gradient(struct ss_greedy *g, int r, int chunk, int fill)
{
    ss_greedy_make_room(g, r, SS_PHASE_I, chunk);
    ss_greedy_fill(g, r, SS_PHASE_I, chunk, 0, chunk == 0 || fill);
    ss_greedy_put(g, r, SS_PHASE_I, chunk);
}

static void gradients(struct ss_greedy *g, char *chunk, int fill)
{
    int p = g->q->stages;
    for (int r = 0; r < p; r++)
        chunk[r] = (char)chunk_of_gradient(g, r);
    for (int r = p - 1; r >= 0; r--)
        if (!chunk[r])
            gradient(g, r, 0, fill);
    for (int r = 0; r < p; r++)
        if (chunk[r])
            gradient(g, r, 1, fill);
}

/* Returns the chunk whose forward a rank takes; -1: none can be taken. */
static int chunk_of_forward(const struct ss_greedy *g, int r)
{
    int m = g->q->microbatches, first = made(g, r, SS_PHASE_F, 0), second = made(g, r, SS_PHASE_F, 1);
    if (second >= m)
        return -1;
    if (second >= first)
        return 0;
    if (r == g->q->stages - 1 || made(g, r + 1, SS_PHASE_F, 1) > second)
        return 1;
    return first < m && (r == 0 || made(g, r - 1, SS_PHASE_F, 0) > first) ? 0 : -1;
}

static void forwards(struct ss_greedy *g, int fill)
{
    for (int r = 0; r < g->q->stages && !g->failed; r++) {
        int chunk = chunk_of_forward(g, r);
        if (chunk < 0)
            continue;
        ss_greedy_make_room(g, r, SS_PHASE_F, chunk);
        ss_greedy_fill(g, r, SS_PHASE_F, chunk, 0, fill);
        ss_greedy_put(g, r, SS_PHASE_F, chunk);
    }
}

int ss_greedy_v(struct ss_greedy *g, int fill_forward, int fill_backward)
{
    char *chunk = ss_calloc((size_t)g->q->stages, 1);
    if (!chunk)
        return SS_ERR_NOMEM;
    first_comes_back(g);
    catch_up(g);
    for (int n = 0; n < 2 * g->q->microbatches && !g->failed; n++) {
        gradients(g, chunk, fill_backward);
        forwards(g, fill_forward);
    }
    free(chunk);
    return SS_OK;
}

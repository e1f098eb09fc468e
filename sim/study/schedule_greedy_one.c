/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generator of zero-bubble for one chunk a rank (Qi et al., arXiv:2401.10241, section 3.1): as many forwards before the first
 * gradient as time and memory leave room for, then a forward and a gradient in turn on all ranks; W where a rank would wait,
 * and where it is the rank that idles most even in gaps that are too short for one. Every choice that the rules leave open
 * is made both ways.
 */
#include "base/base.h"
#include "study/schedule_greedy.h"
#include "study/schedule_order.h"

struct choices {
    int wait;   /* 1: before the first gradient no forward is placed that would delay it */
    int prompt; /* 1: gradients go before forwards that run too far ahead */
    int small;  /* 1: W also goes into short gaps of ranks that may still idle */
};

/* Counts the forwards of each rank between its first and the first gradient; a rank has fewer than the rank
 * before. */
static void count_ahead(const struct ss_greedy *g, int wait, int *ahead)
{
    const struct ss_search *q = g->q;
    int p = q->stages;
    double back = g->now[p - 1] + q->i[p - 1];
    ahead[p - 1] = 0;
    for (int r = p - 2; r >= 0; r--) {
        double now = g->now[r], memory = g->memory[r];
        for (ahead[r] = 0; ahead[r] + 1 < q->microbatches; ahead[r]++) {
            memory += q->activation[r];
            if (!ss_search_fits(q, r, memory) || (wait ? now + q->f[r] > back : now >= back))
                break;
            now += q->f[r];
        }
        back = fmax(now, back) + q->i[r];
    }
    for (int r = 1; r < p; r++)
        while (ahead[r] > 0 && ahead[r] >= ahead[r - 1] && ahead[r] + 1 < q->microbatches)
            ahead[r]--;
}

static int wants_forward(const struct ss_greedy *g, int r, int prompt)
{
    const struct ss_search *q = g->q;
    int made = *ss_greedy_count(g, r, SS_PHASE_F, 0);
    if (made == q->microbatches)
        return 0;
    if (!prompt || r + 1 == q->stages || made < *ss_greedy_count(g, r + 1, SS_PHASE_F, 0) + 2)
        return 1;
    double back = g->now[r + 1] + q->f[r + 1] + q->i[r + 1], end = g->now[r] + q->f[r],
           memory = g->memory[r] + q->activation[r];
    int next, left = ss_greedy_owed(g, r, &next);
    if (g->now[r] >= back)
        return 0;
    for (; left && !ss_search_fits(q, r, memory); left--) {
        memory -= q->weight[r];
        end += q->w[r];
    }
    return end <= back || back - g->now[r] > ss_greedy_slack(g, r);
}

static void round_of_forwards(struct ss_greedy *g, const struct choices *c, int *wants)
{
    int p = g->q->stages;
    for (int r = p - 1; r >= 0; r--)
        wants[r] = wants_forward(g, r, c->prompt) && (r + 1 == p || wants[r + 1]);
    for (int r = 0; r < p; r++) {
        if (!wants[r])
            continue;
        ss_greedy_make_room(g, r, SS_PHASE_F, 0);
        ss_greedy_fill(g, r, SS_PHASE_F, 0, c->small, 1);
        ss_greedy_put(g, r, SS_PHASE_F, 0);
    }
}

void ss_greedy_one(struct ss_greedy *g, int choices, int *numbers)
{
    struct choices own = {.wait = choices & 1, .prompt = choices >> 1 & 1, .small = choices >> 2}, *c = &own;
    const struct ss_search *q = g->q;
    int p = q->stages;
    for (int r = 0; r < p; r++)
        ss_greedy_put(g, r, SS_PHASE_F, 0);
    count_ahead(g, c->wait, numbers);
    for (int r = 0; r < p; r++)
        for (int n = 0; n < numbers[r]; n++)
            ss_greedy_put(g, r, SS_PHASE_F, 0);
    for (int i = 0; i < q->microbatches; i++) {
        if (i)
            round_of_forwards(g, c, numbers);
        for (int r = p - 1; r >= 0; r--) {
            ss_greedy_make_room(g, r, SS_PHASE_I, 0);
            ss_greedy_fill(g, r, SS_PHASE_I, 0, c->small, 1);
            while (r == 0 && *ss_greedy_count(g, 0, SS_PHASE_F, 0) == q->microbatches &&
                   ss_greedy_put_w(g, 0))
                ;
            ss_greedy_put(g, r, SS_PHASE_I, 0);
        }
    }
}

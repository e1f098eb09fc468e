/* SPDX-License-Identifier: Apache-2.0 */
/* What jumps over steady states leave out, and how the board of a replay gets it. */
#include "replay/native.h"

size_t ss_leap_size(const struct ss_program *p, int accounts)
{
    size_t nc = (size_t)p->nclasses,
           doubles = nc * SS_LABEL_COUNT + ss_template_events(p) + (size_t)p->nlinks;
    return sizeof(struct ss_leap) + (accounts ? doubles : 0) * sizeof(double) + 2 * nc * sizeof(int);
}

struct ss_leap *ss_leap_new(const struct ss_program *p, int accounts)
{
    struct ss_leap *leap = calloc(1, ss_leap_size(p, accounts));
    if (!leap)
        return NULL;
    double *at = (double *)(leap + 1);
    if (accounts) {
        leap->label = (double(*)[SS_LABEL_COUNT])at;
        leap->event_s = at + p->nclasses * SS_LABEL_COUNT;
        leap->link_busy = leap->event_s + ss_template_events(p);
        at = leap->link_busy + p->nlinks;
    }
    leap->slot = (int *)at;
    leap->shift = leap->slot + p->nclasses;
    return leap;
}

void ss_leaps_free(struct ss_leap *leaps)
{
    for (struct ss_leap *next; leaps; leaps = next) {
        next = leaps->next;
        free(leaps);
    }
}

static void add_to_account(struct ss_account *a, int cls, const struct ss_leap *leap, int64_t times)
{
    const double end = a->end, peak_time = a->peak_time;
    for (; leap; leap = leap->next, times = leap ? leap->times : 0) {
        double by = (double)times * leap->seconds;
        if (end > leap->now)
            a->end += by;
        if (peak_time > leap->now)
            a->peak_time += by;
        for (int l = 0; l < SS_LABEL_COUNT; l++)
            if (leap->label[cls][l] != 0)
                ss_account_add(a, l, (double)times * leap->label[cls][l]);
    }
}

void ss_leaps_add(const struct ss_program *p, struct ss_board *board, const struct ss_leap *leaps,
                  int64_t times)
{
    size_t nevents = ss_template_events(p);
    for (int c = 0; board->accounts && c < p->nclasses; c++)
        add_to_account(&board->accounts[c], c, leaps, times);
    for (const struct ss_leap *leap = leaps; leap; leap = leap->next) {
        int64_t n = leap == leaps ? times : leap->times;
        board->makespan += (double)n * leap->seconds;
        board->events += n * leap->events;
        board->flows += n * leap->flows;
        if (!board->accounts)
            continue;
        for (size_t i = 0; i < nevents; i++)
            board->event_s[i] += (double)n * leap->event_s[i];
        for (int l = 0; l < p->nlinks; l++)
            board->link_busy[l] += (double)n * leap->link_busy[l];
    }
}

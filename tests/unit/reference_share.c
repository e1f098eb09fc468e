/* SPDX-License-Identifier: Apache-2.0 */
/* Max-min sharing of SMs and links, worked out from nothing at every instant. */
#include "reference_sim.h"

/* What a transfer asks of the SMs of a class. */
static double hold_of(const struct sim *s, const struct work *w, int cls)
{
    if (w->channel >= 0) {
        const struct ss_channel *ch = &s->p->channels[w->channel];
        return ch->from == cls || ch->to == cls ? ch->sm_share : 0;
    }
    const struct ss_collective *g = &s->p->collectives[w->collective];
    for (int i = 0; i < g->nmembers; i++)
        if (g->members[i] == cls)
            return g->sm_share;
    return 0;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Capacity 1 for the computation and n holds: from the smallest hold on, each gets what it asks for or an equal
 * part of what is left. */
static double compute_rate(double *holds, int n)
{
    double left = 1;
    qsort(holds, (size_t)n, sizeof *holds, ascending);
    for (int i = 0; i < n; i++) {
        double equal = left / (n - i + 1);
        if (holds[i] >= equal)
            return equal;
        left -= holds[i];
    }
    return left;
}

void reference_share_sms(struct sim *s)
{
    double *holds = reference_zeros((size_t)s->nrunning, sizeof *holds);
    for (int c = 0; c < s->p->nclasses; c++) {
        int n = 0;
        for (int i = 0; i < s->nrunning; i++)
            if ((holds[n] = hold_of(s, s->running[i], c)) > 0)
                n++;
        s->threads[c].rate = compute_rate(holds, n);
    }
    free(holds);
}

double reference_weight_on(const struct flow *f, int link)
{
    double w = 0;
    for (int i = 0; i < f->path->nlinks; i++)
        if (f->path->link[i] == link)
            w += f->path->weight[i];
    return w;
}

/* The rate at which the link is full when all its flows without a rate get the same one; infinite without any. */
static double link_level(const struct sim *s, int link, struct flow **flows, int n)
{
    double left = s->p->links[link].bandwidth, weights = 0;
    for (int i = 0; i < n; i++) {
        double w = reference_weight_on(flows[i], link);
        if (flows[i]->frozen)
            left -= w * flows[i]->rate;
        else
            weights += w;
    }
    return weights > 0 ? left / weights : INFINITY;
}

/* Progressive filling: the rates of all flows rise together; those on the first full link keep theirs, the rest
 * rise on. */
void reference_share_links(const struct sim *s, struct flow **flows, int n)
{
    double level = 0;
    for (int i = 0; i < n; i++)
        flows[i]->frozen = 0;
    for (;;) {
        int full = -1;
        double lowest = INFINITY;
        for (int l = 0; l < s->p->nlinks; l++) {
            double at = link_level(s, l, flows, n);
            if (at < lowest) {
                lowest = at;
                full = l;
            }
        }
        if (full < 0)
            return;
        level = fmax(level, lowest); /* lower only by rounding */
        for (int i = 0; i < n; i++)
            if (!flows[i]->frozen && reference_weight_on(flows[i], full) > 0) {
                flows[i]->frozen = 1;
                flows[i]->rate = level;
            }
    }
}

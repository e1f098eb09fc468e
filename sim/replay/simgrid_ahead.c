/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a class may do ahead of SimGrid's clock. While nothing holds its SM resource, COMPUTE takes what it says, and
 * a collective of its own without flows takes its latencies: such times are only added up, and slept in one go when
 * the class next meets others. A hold comes from a transfer that the class itself has posted, so it knows.
 * When every event is observed the clock keeps up with each instead.
 */
#include "replay/simgrid.h"

static int is_own(const struct ss_sg *sg, int collective)
{
    const struct ss_collective *g = &sg->p->collectives[collective];
    for (int i = 0; i < g->nphases; i++)
        for (int j = 0; j < g->phases[i].nflows; j++) {
            const struct ss_flow *f = &g->phases[i].flows[j];
            if (f->path >= 0 && f->bytes > 0 && sg->pairs[f->path].from)
                return 0;
        }
    return g->nmembers == 1 && !(g->sm_share > 0);
}

/* Messages that need no receive may hold their receiver at any time. */
static void find_always_held(struct ss_sg *sg)
{
    for (int i = 0; i < sg->p->nchannels; i++) {
        const struct ss_channel *ch = &sg->p->channels[i];
        if (ch->sm_share > 0 && !ch->rendezvous)
            sg->classes[ch->to].held = 1;
    }
}

/* Streams that carry nothing but a class's own collectives. seen: [ntemplates], the last class + 1 that had it. */
static void find_own_streams(struct ss_sg *sg, const char *own, int *seen)
{
    const struct ss_program *p = sg->p;
    for (int c = 0; c < p->nclasses; c++) {
        struct ss_sg_queue *queues = sg->queues + sg->st.stream0[c];
        for (int s = 0; s < p->classes[c].nstreams; s++)
            queues[s].own = !sg->tape->wanted;
        for (int i = 0; i < p->classes[c].nslots; i++) {
            int index = p->classes[c].slots[i].template_index;
            const struct ss_template *t = &p->templates[index];
            for (int e = 0; seen[index] != c + 1 && e < t->nevents; e++)
                if (t->events[e].kind == SS_EV_POST && !own[t->events[e].index])
                    queues[t->events[e].aux].own = 0;
            seen[index] = c + 1;
        }
    }
}

int ss_sg_find_ahead(struct ss_sg *sg)
{
    const struct ss_program *p = sg->p;
    char *own = calloc((size_t)p->ncollectives + 1, sizeof *own);
    int *seen = calloc((size_t)p->ntemplates + 1, sizeof *seen);
    sg->queues = calloc((size_t)sg->st.nstreams + 1, sizeof *sg->queues);
    int rc = own && seen && sg->queues ? 0 : ss_sg_fail(sg->board, SS_ERR_NOMEM, "", "out of memory");
    if (!rc) {
        for (int g = 0; g < p->ncollectives; g++)
            own[g] = (char)is_own(sg, g);
        find_always_held(sg);
        find_own_streams(sg, own, seen);
    }
    free(own);
    free(seen);
    return rc;
}

void ss_sg_catch_up(struct ss_sg_class *c)
{
    double gap = c->now - simgrid_get_clock();
    if (gap > 0)
        sg_actor_sleep_for(gap);
    c->now = simgrid_get_clock();
}

void ss_sg_post_own(struct ss_sg_class *c, int stream, int collective)
{
    struct ss_sg_queue *q = &c->sg->queues[stream];
    const struct ss_collective *g = &c->sg->p->collectives[collective];
    if (!q->ring || q->posted - q->waited > q->mask) {
        struct ss_sg_own *grown = ss_ring_grow(q->ring, &q->mask, q->waited, q->posted, sizeof *grown);
        if (!grown)
            ss_sg_give_up(c->sg);
        q->ring = grown;
    }
    double begin = fmax(c->now, q->free_at), end = begin;
    for (int i = 0; i < g->nphases; i++)
        end += g->phases[i].latency;
    q->free_at = end;
    q->ring[q->posted++ & q->mask] = (struct ss_sg_own){begin, end, g->label};
}

int ss_sg_wait_own(struct ss_sg_class *c, int stream)
{
    struct ss_sg_queue *q = &c->sg->queues[stream];
    if (q->waited == q->posted)
        return 0;
    struct ss_sg_own own = q->ring[q->waited++ & q->mask];
    ss_tape_wait(c->sg->tape, c->index, c->at.slot, c->at.event, own.label, c->now, own.begin, own.end);
    c->now = fmax(c->now, own.end);
    return 1;
}

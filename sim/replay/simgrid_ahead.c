/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that a class may do ahead of SimGrid's clock. While nothing holds its SM resource, COMPUTE takes its
 * plain duration, and a collective of its own takes its latencies before its flows: these times are only
 * added up, and slept in one go when the class next meets others or a flow begins. A hold comes from a
 * transfer that the class itself has posted, so the class knows it. A flow on links that no other class and
 * no channel uses does not wait for the clock either: it takes equally long whenever it begins, so SimGrid
 * moves it at once and the class adds its duration. When every event is observed the clock keeps up with each
 * event instead.
 */
#include "replay/simgrid.h"

static int is_own(const struct ss_collective *g)
{
    return g->nmembers == 1 && !(g->sm_share > 0);
}

static int has_flows(const struct ss_sg *sg, const struct ss_collective *g)
{
    for (int i = 0; i < g->nphases; i++)
        for (int j = 0; j < g->phases[i].nflows; j++)
            if (ss_sg_takes_time(sg, g->phases[i].flows[j].path, g->phases[i].flows[j].bytes))
                return 1;
    return 0;
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
        for (int i = 0; i < ss_program_stored(&p->classes[c]); i++) {
            int index = p->classes[c].slots[i].template_index;
            const struct ss_template *t = &p->templates[index];
            for (int e = 0; seen[index] != c + 1 && e < t->nevents; e++)
                if (t->events[e].kind == SS_EV_POST && !own[t->events[e].index])
                    queues[t->events[e].aux].own = 0;
            seen[index] = c + 1;
        }
    }
}

#define SEVERAL (-1)

/* user: [nlinks], 0 while nobody uses it; by: class + 1, or SEVERAL. */
static void mark_links(const struct ss_program *p, int path, int by, int *user)
{
    for (int i = 0; path >= 0 && i < p->paths[path].nlinks; i++) {
        int *u = &user[p->paths[path].link[i]];
        *u = *u == 0 || *u == by ? by : SEVERAL;
    }
}

static void mark_collective(const struct ss_program *p, const struct ss_collective *g, int by, int *user)
{
    for (int i = 0; i < g->nphases; i++)
        for (int j = 0; j < g->phases[i].nflows; j++)
            mark_links(p, g->phases[i].flows[j].path, by, user);
}

static int only_user(const struct ss_program *p, const struct ss_collective *g, const int *user)
{
    for (int i = 0; i < g->nphases; i++)
        for (int j = 0; j < g->phases[i].nflows; j++) {
            int path = g->phases[i].flows[j].path;
            for (int k = 0; path >= 0 && k < p->paths[path].nlinks; k++)
                if (user[p->paths[path].link[k]] == SEVERAL)
                    return 0;
        }
    return 1;
}

/* Which collectives are on links that nothing uses but collectives of one class. */
static void find_alone(struct ss_sg *sg, int *user)
{
    const struct ss_program *p = sg->p;
    for (int i = 0; i < p->nchannels; i++)
        mark_links(p, p->channels[i].path, SEVERAL, user);
    for (int g = 0; g < p->ncollectives; g++) {
        const struct ss_collective *c = &p->collectives[g];
        mark_collective(p, c, c->nmembers == 1 ? c->members[0] + 1 : SEVERAL, user);
    }
    for (int g = 0; g < p->ncollectives; g++)
        sg->alone[g] = (char)only_user(p, &p->collectives[g], user);
}

int ss_sg_find_ahead(struct ss_sg *sg)
{
    const struct ss_program *p = sg->p;
    char *own = calloc((size_t)p->ncollectives + 1, sizeof *own);
    int *seen = calloc((size_t)p->ntemplates + 1, sizeof *seen);
    int *user = calloc((size_t)p->nlinks + 1, sizeof *user);
    sg->queues = calloc((size_t)sg->st.nstreams + 1, sizeof *sg->queues);
    sg->flows_of = calloc((size_t)p->ncollectives + 1, 1);
    sg->alone = calloc((size_t)p->ncollectives + 1, 1);
    int rc = own && seen && user && sg->queues && sg->flows_of && sg->alone
                 ? 0
                 : ss_sg_fail(sg->board, SS_ERR_NOMEM, "", "out of memory");
    if (!rc) {
        for (int g = 0; g < p->ncollectives; g++) {
            own[g] = (char)is_own(&p->collectives[g]);
            sg->flows_of[g] = (char)has_flows(sg, &p->collectives[g]);
        }
        find_always_held(sg);
        find_own_streams(sg, own, seen);
        find_alone(sg, user);
    }
    free(own);
    free(seen);
    free(user);
    return rc;
}

static struct ss_sg_own *last_of(struct ss_sg_queue *q)
{
    return &q->ring[(q->posted - 1) & q->mask];
}

/* Sleeps until then, unless it has passed. */
static void sleep_until(double time)
{
    double gap = time - simgrid_get_clock();
    if (gap > 0)
        sg_actor_sleep_for(gap);
}

static void end_own(struct ss_sg_queue *q, struct ss_sg_own *own, double end)
{
    own->end = q->free_at = end;
    own->state = SS_SG_ENDED;
    q->ended++;
}

static double run_phases(struct ss_sg_worker *w, const struct ss_collective *g, double begin)
{
    double from = begin;
    for (int i = 0; i < g->nphases; i++) {
        sleep_until(from + g->phases[i].latency);
        ss_sg_run_flows(w, &g->phases[i]);
        from = simgrid_get_clock();
    }
    return from;
}

/* Does so where no flow of others can meet these flows: SimGrid's clock may be behind. */
static double run_phases_alone(struct ss_sg_worker *w, const struct ss_collective *g, double begin)
{
    double at = begin;
    for (int i = 0; i < g->nphases; i++) {
        double start = simgrid_get_clock();
        ss_sg_run_flows(w, &g->phases[i]);
        at += g->phases[i].latency + (simgrid_get_clock() - start);
    }
    return at;
}

/* The collectives that have begun on a stream, by a worker, until none is left. */
static void run_own(struct ss_sg_worker *w)
{
    struct ss_sg *sg = w->sg;
    struct ss_sg_class *c = &sg->classes[w->index];
    int stream = w->stream;
    struct ss_sg_queue *q = &sg->queues[stream];
    for (;;) {
        /* the ring may move while the flows run */
        struct ss_sg_own own = q->ring[q->ended & q->mask];
        own.begin = fmax(own.begin, q->free_at);
        double end = run_phases(w, &sg->p->collectives[own.collective], own.begin);
        q->ring[q->ended & q->mask].begin = own.begin;
        uint32_t index = q->ended;
        end_own(q, &q->ring[index & q->mask], end);
        int woken = c->blocked == SS_EV_WAIT && c->target == stream && q->waited == index;
        int more = q->ended != q->posted && q->ring[q->ended & q->mask].state == SS_SG_STARTED;
        if (woken) {
            q->waited++;
            ss_sg_end_wait(sg, c->index, sg->p->collectives[own.collective].label, own.begin);
            sg_sem_release(c->sem);
        }
        if (!more)
            break;
    }
    c->beside--;
}

/* Gives what was left for the wait to a worker, at the moment at which it begins. */
static void begin_lazy(struct ss_sg_class *c)
{
    int stream = c->lazy;
    if (stream < 0)
        return;
    struct ss_sg_own *own = last_of(&c->sg->queues[stream]);
    c->lazy = -1;
    own->state = SS_SG_STARTED;
    sleep_until(fmin(own->begin, c->now));
    c->beside++;
    ss_sg_start_job(
        c->sg, (struct ss_sg_worker){.job = SS_SG_OWN, .index = c->index, .stream = stream, .run = run_own});
}

void ss_sg_catch_up(struct ss_sg_class *c)
{
    begin_lazy(c);
    sleep_until(c->now);
    c->now = simgrid_get_clock();
}

static double latencies(const struct ss_collective *g)
{
    double sum = 0;
    for (int i = 0; i < g->nphases; i++)
        sum += g->phases[i].latency;
    return sum;
}

static void grow(struct ss_sg *sg, struct ss_sg_queue *q)
{
    uint32_t first = q->waited < q->ended ? q->waited : q->ended;
    if (q->ring && q->posted - first <= q->mask)
        return;
    struct ss_sg_own *grown = ss_ring_grow(q->ring, &q->mask, first, q->posted, sizeof *grown);
    if (!grown)
        ss_sg_give_up(sg);
    q->ring = grown;
}

void ss_sg_post_own(struct ss_sg_class *c, int stream, int collective)
{
    struct ss_sg_queue *q = &c->sg->queues[stream];
    const struct ss_collective *g = &c->sg->p->collectives[collective];
    int flows = c->sg->flows_of[collective];
    if (c->lazy == stream || (flows && c->lazy >= 0))
        begin_lazy(c);
    grow(c->sg, q);
    q->posted++;
    if (q->ended != q->posted - 1) { /* the worker that runs those before it goes on with it */
        *last_of(q) = (struct ss_sg_own){c->now, 0, collective, SS_SG_STARTED};
        return;
    }
    double begin = fmax(c->now, q->free_at);
    if (flows) {
        *last_of(q) = (struct ss_sg_own){begin, 0, collective, SS_SG_LAZY};
        c->lazy = stream;
        return;
    }
    q->free_at = begin + latencies(g);
    *last_of(q) = (struct ss_sg_own){begin, q->free_at, collective, SS_SG_ENDED};
    q->ended++;
}

/* In the class's actor. */
static void run_lazy(struct ss_sg_class *c, struct ss_sg_queue *q, struct ss_sg_own *own)
{
    const struct ss_collective *g = &c->sg->p->collectives[own->collective];
    int alone = c->sg->alone[own->collective] && !c->beside;
    c->lazy = -1;
    own->state = SS_SG_STARTED;
    end_own(q, own, (alone ? run_phases_alone : run_phases)(&c->as_worker, g, own->begin));
}

int ss_sg_wait_own(struct ss_sg_class *c, int stream)
{
    struct ss_sg_queue *q = &c->sg->queues[stream];
    if (q->waited == q->posted)
        return 0;
    struct ss_sg_own *own = &q->ring[q->waited & q->mask];
    if (own->state == SS_SG_LAZY)
        run_lazy(c, q, own);
    if (own->state != SS_SG_ENDED)
        return 0;
    q->waited++;
    ss_tape_wait(c->sg->tape, c->index, c->at.slot, c->at.event, ss_sg_events(c),
                 c->sg->p->collectives[own->collective].label, c->now, own->begin, own->end);
    c->now = fmax(c->now, own->end);
    return 1;
}

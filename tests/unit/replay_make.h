/* SPDX-License-Identifier: Apache-2.0 */
/* Programs built by hand, and what a replay of them said; for the tests of the replay room. */
#ifndef REPLAY_MAKE_H
#define REPLAY_MAKE_H

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stepsim/replay.h"

#define MAKE_UNUSED __attribute__((unused))

/* Room for one more item; n counts those there. Short arrays have room for no more, so that a sanitizer sees what reads beyond; long
 * ones grow by an eighth, for it copies them each time. */
static void *make_room(void *array, int n, size_t size)
{
    const size_t one = (size_t)n + 1, room = n < 64 ? one : one + (size_t)n / 8;
    void *grown = n >= 64 && malloc_usable_size(array) >= one * size ? array : realloc(array, room * size);
    if (!grown)
        abort();
    memset((char *)grown + (size_t)n * size, 0, size);
    return grown;
}

/* Classes "stage0".. with `streams` collective streams each; mix 0 is all compute. */
MAKE_UNUSED static struct ss_program *make_program(int nclasses, int streams)
{
    struct ss_program *p = make_room(NULL, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "test");
    p->memory_overhead_factor = 1;
    p->mixes = make_room(NULL, p->nmixes++, sizeof *p->mixes);
    p->mixes[0].fraction[SS_LABEL_COMPUTE] = 1;
    for (int c = 0; c < nclasses; c++) {
        p->classes = make_room(p->classes, p->nclasses++, sizeof *p->classes);
        snprintf(p->classes[c].name, sizeof p->classes[c].name, "stage%d", c);
        p->classes[c].stage = p->classes[c].first_rank = c;
        p->classes[c].count = 1;
        p->classes[c].nstreams = streams;
    }
    return p;
}

MAKE_UNUSED static int make_link(struct ss_program *p, double bandwidth)
{
    p->links = make_room(p->links, p->nlinks, sizeof *p->links);
    snprintf(p->links[p->nlinks].name, sizeof p->links[0].name, "link%d", p->nlinks);
    p->links[p->nlinks].bandwidth = bandwidth;
    return p->nlinks++;
}

MAKE_UNUSED static int make_path(struct ss_program *p)
{
    p->paths = make_room(p->paths, p->npaths, sizeof *p->paths);
    return p->npaths++;
}

MAKE_UNUSED static void make_hop(struct ss_program *p, int path, int link, double weight)
{
    struct ss_path *w = &p->paths[path];
    w->link[w->nlinks] = link;
    w->weight[w->nlinks++] = weight;
}

/* A path over one new link. */
MAKE_UNUSED static int make_wire(struct ss_program *p, double bandwidth)
{
    int path = make_path(p);
    make_hop(p, path, make_link(p, bandwidth), 1);
    return path;
}

MAKE_UNUSED static int make_channel(struct ss_program *p, int from, int to, int rendezvous, int path,
                                    double latency, double sm_share)
{
    p->channels = make_room(p->channels, p->nchannels, sizeof *p->channels);
    p->channels[p->nchannels] =
        (struct ss_channel){from, to, p->nchannels, rendezvous, path, latency, sm_share};
    return p->nchannels++;
}

MAKE_UNUSED static int make_collective(struct ss_program *p, int nmembers, const int *members,
                                       double sm_share)
{
    p->collectives = make_room(p->collectives, p->ncollectives, sizeof *p->collectives);
    struct ss_collective *g = &p->collectives[p->ncollectives];
    snprintf(g->name, sizeof g->name, "collective%d", p->ncollectives);
    g->label = SS_LABEL_DP;
    g->sm_share = sm_share;
    for (int i = 0; i < nmembers; i++) {
        g->members = make_room(g->members, g->nmembers, sizeof *g->members);
        g->members[g->nmembers++] = members[i];
    }
    return p->ncollectives++;
}

MAKE_UNUSED static void make_phase(struct ss_program *p, int collective, double latency)
{
    struct ss_collective *g = &p->collectives[collective];
    g->phases = make_room(g->phases, g->nphases, sizeof *g->phases);
    g->phases[g->nphases++].latency = latency;
}

MAKE_UNUSED static void make_flow(struct ss_program *p, int collective, int path, double bytes)
{
    struct ss_collective *g = &p->collectives[collective];
    struct ss_flow_phase *phase = &g->phases[g->nphases - 1];
    phase->flows = make_room(phase->flows, phase->nflows, sizeof *phase->flows);
    phase->flows[phase->nflows++] = (struct ss_flow){path, bytes};
    g->bytes += bytes;
}

/* Begins a new slot of the class. */
MAKE_UNUSED static void make_slot(struct ss_program *p, int cls, const char *name)
{
    struct ss_program_class *c = &p->classes[cls];
    p->templates = make_room(p->templates, p->ntemplates, sizeof *p->templates);
    snprintf(p->templates[p->ntemplates].name, sizeof p->templates[0].name, "%s", name);
    c->slots = make_room(c->slots, c->nslots, sizeof *c->slots);
    c->slots[c->nslots++] = (struct ss_program_slot){p->ntemplates++, -1, -1, -1};
}

/* Appends an event to the last slot of the class. */
MAKE_UNUSED static void make_event(struct ss_program *p, int cls, int kind, int index, int aux, double amount)
{
    struct ss_program_class *c = &p->classes[cls];
    if (c->nslots == 0)
        make_slot(p, cls, "slot");
    struct ss_template *t = &p->templates[c->slots[c->nslots - 1].template_index];
    t->events = make_room(t->events, t->nevents, sizeof *t->events);
    t->events[t->nevents++] = (struct ss_event){kind, index, aux, amount};
}

MAKE_UNUSED static void make_compute(struct ss_program *p, int cls, double seconds)
{
    make_event(p, cls, SS_EV_COMPUTE, 0, 0, seconds);
}

MAKE_UNUSED static void make_memory(struct ss_program *p, int cls, int kind, double bytes)
{
    make_event(p, cls, kind, SS_MEM_ACTIVATIONS, 0, bytes);
}

MAKE_UNUSED static void make_send(struct ss_program *p, int channel, double bytes)
{
    make_event(p, p->channels[channel].from, SS_EV_SEND, channel, 0, bytes);
}

MAKE_UNUSED static void make_recv(struct ss_program *p, int channel)
{
    make_event(p, p->channels[channel].to, SS_EV_RECV, channel, 0, 0);
}

MAKE_UNUSED static void make_wait_send(struct ss_program *p, int channel)
{
    make_event(p, p->channels[channel].from, SS_EV_WAIT_SEND, channel, 0, 0);
}

MAKE_UNUSED static void make_wait_recv(struct ss_program *p, int channel)
{
    make_event(p, p->channels[channel].to, SS_EV_WAIT_RECV, channel, 0, 0);
}

/* Entry `at` of the slots of the class runs so many times more. To be called when the class has all slots. */
MAKE_UNUSED static void make_turns(struct ss_program *p, int cls, int at, int more)
{
    struct ss_program_class *c = &p->classes[cls];
    c->loop = (struct ss_program_loop){at, 1, more, 0};
    c->nslots += more;
}

/* Class 0 computes 1 s, sends in each of 1 + `more` turns of 0.6 s, then has 60 slots of 0.25 s and one of 2 s that needs more memory than
 * all before. Class 1 receives in each of 1 + `received` turns. Class 2 computes 0.5 s. */
MAKE_UNUSED static struct ss_program *make_two_states(int more, int received)
{
    struct ss_program *p = make_program(3, 0);
    int channel = make_channel(p, 0, 1, 0, make_wire(p, 1e9), 0, 0);
    make_compute(p, 0, 1);
    make_slot(p, 0, "send");
    make_memory(p, 0, SS_EV_ALLOC, 50);
    make_compute(p, 0, 0.5);
    make_send(p, channel, 1e8);
    make_wait_send(p, channel);
    make_memory(p, 0, SS_EV_FREE, 50);
    make_slot(p, 0, "body");
    make_compute(p, 0, 0.25);
    for (int i = 1; i < 60; i++) {
        struct ss_program_class *c = &p->classes[0];
        c->slots = make_room(c->slots, c->nslots, sizeof *c->slots);
        c->slots[c->nslots] = c->slots[c->nslots - 1];
        c->nslots++;
    }
    make_slot(p, 0, "last");
    make_memory(p, 0, SS_EV_ALLOC, 100);
    make_compute(p, 0, 2);
    make_memory(p, 0, SS_EV_FREE, 100);
    make_slot(p, 1, "receive");
    make_recv(p, channel);
    make_wait_recv(p, channel);
    make_compute(p, 1, 0.1);
    make_slot(p, 2, "short");
    make_compute(p, 2, 0.5);
    make_turns(p, 0, 1, more);
    make_turns(p, 1, 0, received);
    return p;
}

MAKE_UNUSED static void make_free(struct ss_program *p)
{
    for (int i = 0; i < p->ncollectives; i++) {
        for (int j = 0; j < p->collectives[i].nphases; j++)
            free(p->collectives[i].phases[j].flows);
        free(p->collectives[i].phases);
        free(p->collectives[i].members);
    }
    for (int i = 0; i < p->ntemplates; i++)
        free(p->templates[i].events);
    for (int i = 0; i < p->nclasses; i++)
        free(p->classes[i].slots);
    free(p->links);
    free(p->paths);
    free(p->mixes);
    free(p->templates);
    free(p->channels);
    free(p->collectives);
    free(p->classes);
    free(p);
}

/* ---- what the observers heard ---- */

struct heard {
    char kind;   /* 's'pan, 't'ransfer, 'm'emory */
    int a, b, c; /* class, slot, event; channel, collective, 0 */
    double start, busy, end, bytes;
};
struct ear {
    struct heard *all;
    int n;
};

static void ear_add(struct ear *e, struct heard h)
{
    if (e->n % 256 == 0 && !(e->all = realloc(e->all, (size_t)(e->n + 256) * sizeof *e->all)))
        abort();
    e->all[e->n++] = h;
}

static void ear_span(void *ctx, int cls, int slot, int event, double start, double busy_from, double end)
{
    ear_add(ctx, (struct heard){'s', cls, slot, event, start, busy_from, end, 0});
}

static void ear_transfer(void *ctx, int channel, int collective, double start, double end, double bytes)
{
    ear_add(ctx, (struct heard){'t', channel, collective, 0, start, start, end, bytes});
}

static void ear_memory(void *ctx, int cls, int slot, int event, double time, int mem, double bytes)
{
    (void)mem;
    ear_add(ctx, (struct heard){'m', cls, slot, event, time, time, time, bytes});
}

MAKE_UNUSED static int ear_replay(const struct ss_program *p, int engine, struct ear *ear,
                                  struct ss_replay_stats *stats, struct ss_error *err)
{
    struct ss_observer o = {ear, ear_span, ear_transfer, ear_memory};
    memset(ear, 0, sizeof *ear);
    return ss_replay(p, engine, &o, 1, stats, err);
}

/* The k-th thing of a kind with these numbers, or NULL. */
MAKE_UNUSED static const struct heard *ear_find(const struct ear *e, char kind, int a, int b, int c, int k)
{
    for (int i = 0; i < e->n; i++)
        if (e->all[i].kind == kind && e->all[i].a == a && e->all[i].b == b && e->all[i].c == c && k-- == 0)
            return &e->all[i];
    return NULL;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs, the same on every machine. A program is written down in an order in which it can run (a wait comes
 * after both posts), so it cannot block.
 */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include "replay_make.h"

/* Counter-based: the n-th draw of a seed. */
struct draw {
    uint64_t seed, n;
};

static uint64_t draw_bits(struct draw *d)
{
    uint64_t z = d->seed * 0x9e3779b97f4a7c15ULL + ++d->n * 0xd1342543de82ef95ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static double draw_real(struct draw *d)
{
    return (double)(draw_bits(d) >> 11) * 0x1p-53;
}

/* 0 .. n - 1 */
static int draw_int(struct draw *d, int n)
{
    return (int)(draw_bits(d) % (uint64_t)n);
}

/* What is still to be waited for, so that the waits can be written later. */
struct owed {
    int kind, cls, index;
};

struct maker {
    struct draw d;
    struct ss_program *p;
    struct owed *owed;
    int nowed;
    int coarse;  /* few different amounts: many things happen at one instant */
    int wide;    /* amounts of very different size */
    int weights; /* flows stand for several */
    int shares;  /* transfers hold SMs */
    int own0;    /* first of the collectives that a class has to itself, on its last stream */
    int wild;    /* more traffic on fewer links, links named twice, jitter, bodies that repeat */
    int odd;     /* wild: weights that are no whole multiples of each other, which SimGrid refuses */
    int heavy;   /* wild: weights up to 30; what one flow gains, the others lose many times */
    double held[8][SS_MEM_COUNT]; /* wild: bytes allocated and not yet freed */
};

static double amount(struct maker *m, double most)
{
    if (m->coarse)
        return most * (1 + draw_int(&m->d, 3)) / 4;
    return most * (m->wide ? pow(10, -8 * draw_real(&m->d)) : draw_real(&m->d));
}

static double share(struct maker *m)
{
    static const double shares[] = {0, 0.02, 0.1, 0.3, 0.6, 1};
    return m->shares ? shares[draw_int(&m->d, 6)] : 0;
}

static void network(struct maker *m)
{
    struct ss_program *p = m->p;
    int nlinks = 1 + draw_int(&m->d, m->wild ? 4 : 6), npaths = 1 + m->wild + draw_int(&m->d, 8);
    double unit[8];
    for (int l = 0; l < nlinks; l++) {
        make_link(p, m->coarse ? 1e9 * (1 + draw_int(&m->d, 2)) : 1e8 * pow(10, 2 * draw_real(&m->d)));
        unit[l] = m->weights ? 0.5 + 4 * draw_real(&m->d) : 1;
    }
    for (int i = 0; i < npaths; i++) {
        int path = make_path(p), n = draw_int(&m->d, nlinks + 1), start = draw_int(&m->d, nlinks);
        int twice = m->wild && draw_int(&m->d, 6) == 0;
        for (int j = 0; j < n + twice; j++) {
            int l = (start + j) % nlinks;
            double odd = m->odd ? 0.5 + draw_real(&m->d) : 1;
            make_hop(p, path, l, odd * unit[l] * (m->weights ? 1 + draw_int(&m->d, m->heavy ? 30 : 4) : 1));
        }
    }
    /* every link has a flow of unit weight, else the units would not be those that SimGrid sees */
    for (int l = 0; m->weights && l < nlinks; l++) {
        int path = make_path(p);
        make_hop(p, path, l, unit[l]);
        make_channel(p, 0, draw_int(&m->d, p->nclasses), draw_int(&m->d, 2), path, 0, 0);
    }
}

static void traffic(struct maker *m)
{
    struct ss_program *p = m->p;
    int nchannels = 1 + 2 * m->wild + draw_int(&m->d, 8), ncollectives = m->wild + draw_int(&m->d, 6);
    for (int i = 0; i < nchannels; i++)
        make_channel(p, draw_int(&m->d, p->nclasses), draw_int(&m->d, p->nclasses), draw_int(&m->d, 2),
                     draw_int(&m->d, p->npaths + 1) - 1, draw_int(&m->d, 2) ? amount(m, 0.01) : 0, share(m));
    for (int i = 0; i < ncollectives; i++) {
        int members[8], n = 0, nphases = draw_int(&m->d, 4);
        for (int c = 0; c < p->nclasses; c++)
            if (draw_int(&m->d, 2))
                members[n++] = c;
        if (n == 0)
            members[n++] = draw_int(&m->d, p->nclasses);
        int g = make_collective(p, n, members, share(m));
        p->collectives[g].label = draw_int(&m->d, 2) ? SS_LABEL_DP : SS_LABEL_TP;
        for (int j = 0; j < nphases; j++) {
            make_phase(p, g, draw_int(&m->d, 2) ? amount(m, 0.01) : 0);
            for (int k = draw_int(&m->d, 5); k > 0; k--)
                make_flow(p, g, draw_int(&m->d, p->npaths), draw_int(&m->d, 6) ? amount(m, 1e8) : 0);
        }
    }
    m->own0 = p->ncollectives;
    for (int c = 0; c < p->nclasses; c++) {
        int g = make_collective(p, 1, &c, draw_int(&m->d, 4) ? 0 : share(m));
        p->collectives[g].label = SS_LABEL_CP;
        for (int j = draw_int(&m->d, 3); j > 0; j--)
            make_phase(p, g, amount(m, 0.1));
    }
}

static void owe(struct maker *m, int kind, int cls, int index)
{
    m->owed = make_room(m->owed, m->nowed, sizeof *m->owed);
    m->owed[m->nowed++] = (struct owed){kind, cls, index};
}

/* Writes one wait. Which one of a class's waits on a channel comes first does not matter. */
static void settle(struct maker *m)
{
    int i = draw_int(&m->d, m->nowed);
    struct owed o = m->owed[i];
    m->owed[i] = m->owed[--m->nowed];
    make_event(m->p, o.cls, o.kind, o.kind == SS_EV_WAIT ? 0 : o.index, o.kind == SS_EV_WAIT ? o.index : 0,
               0);
}

/* Memory comes in whole bytes, so that sums are exact. A wild program frees what it has. */
static void memory_event(struct maker *m, int cls)
{
    int kind = draw_int(&m->d, 2) ? SS_EV_ALLOC : SS_EV_FREE, mem = draw_int(&m->d, SS_MEM_COUNT);
    double bytes = floor(amount(m, 1000)), *held = &m->held[cls][mem];
    if (m->wild && kind == SS_EV_FREE)
        bytes = fmin(bytes, *held);
    *held += kind == SS_EV_ALLOC ? bytes : -bytes;
    make_event(m->p, cls, kind, mem, 0, bytes);
}

static void step(struct maker *m)
{
    struct ss_program *p = m->p;
    int what = draw_int(&m->d, 10), cls = draw_int(&m->d, p->nclasses);
    if (m->wild && (what == 2 || what == 9))
        what = 4; /* more to send, less to wait for */
    if (what < 3) {
        make_event(p, cls, SS_EV_COMPUTE, draw_int(&m->d, p->nmixes), 0,
                   draw_int(&m->d, 10) ? amount(m, 0.2) : 0);
    } else if (what < 5) {
        int ch = draw_int(&m->d, p->nchannels);
        make_send(p, ch, draw_int(&m->d, 8) ? amount(m, 1e8) : 0);
        make_recv(p, ch);
        owe(m, SS_EV_WAIT_SEND, p->channels[ch].from, ch);
        owe(m, SS_EV_WAIT_RECV, p->channels[ch].to, ch);
    } else if (what < 6 && p->ncollectives) {
        int g = draw_int(&m->d, p->ncollectives);
        for (int i = 0; i < p->collectives[g].nmembers; i++) {
            int c = p->collectives[g].members[i], last = p->classes[c].nstreams - 1;
            int stream = g < m->own0 ? draw_int(&m->d, last) : last;
            make_event(p, c, SS_EV_POST, g, stream, 0);
            owe(m, SS_EV_WAIT, c, stream);
        }
    } else if (what < 7) {
        memory_event(m, cls);
    } else if (what < 8) {
        make_slot(p, cls, "slot");
    } else if (m->nowed) {
        settle(m);
    }
}

/* Runs all slots `times` times: what an iteration of many microbatches looks like. */
static void repeat_slots(struct ss_program *p, int times)
{
    for (int c = 0; c < p->nclasses; c++) {
        struct ss_program_class *cls = &p->classes[c];
        int n = cls->nslots;
        for (int i = n; i < n * times; i++) {
            cls->slots = make_room(cls->slots, cls->nslots, sizeof *cls->slots);
            cls->slots[cls->nslots++] = cls->slots[i - n];
        }
    }
}

/* The end of a body that repeats: nothing allocated, all waited for, and, maybe, all classes together. */
static void end_body(struct maker *m, int barrier)
{
    struct ss_program *p = m->p;
    while (m->nowed)
        settle(m);
    for (int c = 0; c < p->nclasses; c++)
        for (int i = 0; i < SS_MEM_COUNT; i++)
            if (m->held[c][i] > 0)
                make_event(p, c, SS_EV_FREE, i, 0, m->held[c][i]);
    for (int c = 0; barrier && c < p->nclasses; c++) {
        make_event(p, c, SS_EV_POST, p->ncollectives - 1, 0, 0);
        make_event(p, c, SS_EV_WAIT, 0, 0, 0);
    }
}

static void make_wild(struct maker *m)
{
    int members[8], steps = 20 + draw_int(&m->d, 150), times = 1;
    m->odd = draw_int(&m->d, 10) == 0;
    m->heavy = draw_int(&m->d, 3) == 0;
    m->weights |= m->odd || m->heavy;
    network(m);
    traffic(m);
    for (int c = 0; c < m->p->nclasses; c++) {
        members[c] = c;
        m->p->classes[c].draws = c;
    }
    make_phase(m->p, make_collective(m->p, m->p->nclasses, members, 0), 0.001);
    if (draw_int(&m->d, 4) == 0)
        m->p->jitter = (struct ss_jitter){.sigma = 0.1, .seed = m->d.seed};
    if (draw_int(&m->d, 4) == 0) {
        times = 2 + draw_int(&m->d, 39);
        steps = 10 + steps / 6;
    }
    for (int i = 0; i < steps; i++)
        step(m);
    if (times > 1)
        end_body(m, draw_int(&m->d, 2));
    repeat_slots(m->p, times);
    while (m->nowed && draw_int(&m->d, 20))
        settle(m);
}

/* wild: as one simulator can be held against another that takes any weight. */
MAKE_UNUSED static struct ss_program *random_program(uint64_t seed, int wild)
{
    struct maker m = {.d = {seed, 0}, .wild = wild};
    m.p = make_program(1 + draw_int(&m.d, 6), 2 + draw_int(&m.d, 3));
    m.coarse = draw_int(&m.d, 3) == 0;
    m.wide = draw_int(&m.d, 4) == 0;
    m.weights = draw_int(&m.d, 3) == 0;
    m.shares = draw_int(&m.d, 3) > 0;
    m.p->mixes = make_room(m.p->mixes, m.p->nmixes++, sizeof *m.p->mixes);
    for (int i = 0; i < 4; i++)
        m.p->mixes[1].fraction[3 * i] = 0.25;
    if (wild) {
        make_wild(&m);
        free(m.owed);
        return m.p;
    }
    network(&m);
    traffic(&m);
    int steps = 20 + draw_int(&m.d, 200);
    for (int i = 0; i < steps; i++)
        step(&m);
    while (m.nowed && draw_int(&m.d, 20))
        settle(&m);
    free(m.owed);
    return m.p;
}

#endif

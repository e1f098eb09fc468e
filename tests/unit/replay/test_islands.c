/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Islands run on their own: whoever listens to a replay has it in the order of time, so each program is replayed with a
 * listener and without, and all that is counted must be the same to the last bit.
 * unit_replay islands [first seed] [number of seeds]
 */

#include "random_program.h"
#include "replay/engine.h"
#include "suite.h"

static uint64_t first_seed = 1, nseeds = 24;

static struct ss_board *replay(const struct ss_program *p, int in_order)
{
    const struct ss_replay_options options = {.engine = SS_ENGINE_NATIVE, .full = 1};
    struct ear ear = {NULL, 0};
    struct ss_observer observer = {&ear, ear_span, NULL, NULL};
    struct ss_board *board = NULL;
    struct ss_error err = {0};
    int rc = ss_replay_board(p, &options, &observer, in_order, 1, &board, &err);
    CU_ASSERT_EQUAL(rc, 0);
    if (rc)
        printf("\n  %s\n", err.message);
    free(ear.all);
    return board;
}

/* Where replicas are in lockstep, transfers end at one instant, and how far an error of one would go is told by which of them is served
 * last: `lockstep` leaves this bound out. */
static int same_boards(const struct ss_program *p, const struct ss_board *a, const struct ss_board *b,
                       int lockstep)
{
    size_t nc = (size_t)p->nclasses;
    return memcmp(&a->makespan, &b->makespan, sizeof a->makespan) == 0 && a->events == b->events &&
           a->flows == b->flows &&
           (lockstep || fabs(a->doublings - b->doublings) <= 1e-12 * (1 + b->doublings)) &&
           memcmp(a->accounts, b->accounts, nc * sizeof *a->accounts) == 0 &&
           memcmp(a->link_busy, b->link_busy, (size_t)p->nlinks * sizeof *a->link_busy) == 0 &&
           memcmp(a->event_s, b->event_s, ss_template_events(p) * sizeof *a->event_s) == 0;
}

/* The share of the events that were run apart, after a comparison; negative: it differs. */
static double compare(const struct ss_program *p, int lockstep)
{
    struct ss_board *apart = replay(p, 0), *in_order = replay(p, 1);
    int same = apart && in_order && same_boards(p, apart, in_order, lockstep);
    double share = same ? (double)apart->events_apart / (double)apart->events : -1;
    CU_ASSERT(!in_order || in_order->events_apart == 0);
    ss_board_free(apart);
    ss_board_free(in_order);
    return share;
}

/* ---- pipelines side by side ---- */

struct fleet {
    struct draw d;
    struct ss_program *p;
    int stages, replicas, microbatches;
    int alike;   /* replicas are in lockstep */
    int joined;  /* 1: some replicas share a link; 2: all do */
    int crossed; /* 1: collectives cross links of a replica that has no part in them */
    int idle;    /* messages at the end, for which nobody waits */
    int up0, paths0;
    int channel[2][1024]; /* forward from a class, backward to it */
};

static int class_at(const struct fleet *f, int replica, int stage)
{
    return stage * f->replicas + replica; /* as ranks are: one pipeline is spread over all of them */
}

/* Links of its own for what a class sends and receives; where replicas are joined, one above some or all. */
static void wire(struct fleet *f)
{
    struct ss_program *p = f->p;
    int above = make_link(p, 3e9);
    f->up0 = p->nlinks;
    for (int c = 0; c < p->nclasses; c++) {
        make_link(p, f->alike ? 1e9 : 1e9 * (1 + draw_real(&f->d)));
        make_link(p, 1.5e9);
    }
    f->paths0 = p->npaths;
    for (int c = 0; c < p->nclasses; c++) {
        int replica = c % f->replicas, path = make_path(p);
        make_hop(p, path, f->up0 + 2 * c, 1);
        if (f->joined == 2 || (f->joined && replica % 7 < 2))
            make_hop(p, path, above, 1);
        make_hop(p, path, f->up0 + 2 * ((c + f->replicas) % p->nclasses) + 1, 1);
    }
    double latency = draw_int(&f->d, 2) ? 1e-3 : 0, holds = draw_int(&f->d, 2) ? 0.2 : 0;
    for (int i = 0; i < 2; i++)
        for (int c = 0; c < p->nclasses - f->replicas; c++)
            f->channel[i][c] = make_channel(p, i ? c + f->replicas : c, i ? c : c + f->replicas,
                                            draw_int(&f->d, 2), f->paths0 + c, latency, holds);
}

/* Over the replicas of a stage: each sends to the next over the links of its messages. */
static int join_stage(struct fleet *f, int stage, int step)
{
    int members[1024], n = 0;
    for (int r = 0; r < f->replicas; r += step)
        members[n++] = class_at(f, r, stage);
    int g = make_collective(f->p, n, members, draw_int(&f->d, 2) ? 0.3 : 0);
    make_phase(f->p, g, draw_int(&f->d, 2) ? 0.002 : 0);
    for (int i = 0; i < n; i++) {
        int path = make_path(f->p), to = members[(i + 1) % n] + (f->crossed && i == 0 ? 1 : 0);
        make_hop(f->p, path, f->up0 + 2 * members[i], 1);
        make_hop(f->p, path, f->up0 + 2 * to + 1, 1);
        make_flow(f->p, g, path, f->alike ? 1e8 : 1e8 * draw_real(&f->d));
    }
    return g;
}

static double amount_of(struct fleet *f, double most)
{
    return f->alike ? most / 2 : most * draw_real(&f->d);
}

/* One microbatch through a stage, forward or backward. */
static void make_work(struct fleet *f, int c, int backward)
{
    struct ss_program *p = f->p;
    int first = c < f->replicas, last = c >= p->nclasses - f->replicas;
    int in = backward ? (last ? -1 : f->channel[1][c]) : first ? -1 : f->channel[0][c - f->replicas];
    int out = backward ? (first ? -1 : f->channel[1][c - f->replicas]) : last ? -1 : f->channel[0][c];
    make_slot(p, c, backward ? "B" : "F");
    if (in >= 0) {
        make_recv(p, in);
        make_wait_recv(p, in);
    }
    make_event(p, c, backward ? SS_EV_FREE : SS_EV_ALLOC, SS_MEM_ACTIVATIONS, 0, 1000);
    make_compute(p, c, amount_of(f, backward ? 0.2 : 0.1));
    if (out >= 0) {
        make_send(p, out, amount_of(f, 1e8));
        make_wait_send(p, out);
    }
}

static void make_stage(struct fleet *f, int c, int gradients, int norm, int slot)
{
    struct ss_program *p = f->p;
    int replica = c % f->replicas, last = c >= p->nclasses - f->replicas;
    int part = replica % (p->collectives[gradients].nmembers == f->replicas ? 1 : 2) == 0;
    for (int i = 0; i < 2 * f->microbatches; i++) {
        make_work(f, c, i >= f->microbatches);
        if (part && i == slot)
            make_event(p, c, SS_EV_POST, gradients, 0, 0);
        if (part && i == slot + 3)
            make_event(p, c, SS_EV_WAIT, 0, 0, 0);
    }
    if (norm >= 0) {
        make_event(p, c, SS_EV_POST, norm, 1, 0);
        make_event(p, c, SS_EV_WAIT, 0, 1, 0);
    }
    if (f->idle && !last)
        make_send(p, f->channel[0][c], 1e9 * draw_real(&f->d));
    if (f->idle && c >= f->replicas)
        make_recv(p, f->channel[0][c - f->replicas]);
}

static struct ss_program *fleet_program(uint64_t seed, struct fleet *f)
{
    *f = (struct fleet){.d = {seed, 0}};
    f->stages = 2 + draw_int(&f->d, 4);
    f->replicas = (300 + draw_int(&f->d, 300)) / f->stages;
    f->microbatches = 6 + draw_int(&f->d, 6);
    f->alike = draw_int(&f->d, 3) == 0;
    f->joined = draw_int(&f->d, 4) ? 0 : 1 + draw_int(&f->d, 2);
    f->crossed = draw_int(&f->d, 4) == 0;
    f->idle = draw_int(&f->d, 3) == 0;
    f->p = make_program(f->stages * f->replicas, 2);
    int norm = -1, *all = calloc((size_t)f->p->nclasses, sizeof *all);
    for (int c = 0; c < f->p->nclasses; c++)
        all[c] = f->p->classes[c].draws = c;
    wire(f);
    if (draw_int(&f->d, 2))
        make_phase(f->p, norm = make_collective(f->p, f->p->nclasses, all, 0), 0.001);
    free(all);
    if (draw_int(&f->d, 3) == 0)
        f->p->jitter = (struct ss_jitter){.sigma = 0.05, .seed = seed};
    for (int s = 0; s < f->stages; s++) {
        int gradients = join_stage(f, s, f->crossed ? 2 : 1);
        int slot = draw_int(&f->d, 2 * f->microbatches);
        for (int r = 0; r < f->replicas; r++)
            make_stage(f, class_at(f, r, s), gradients, norm, slot);
    }
    return f->p;
}

TEST(random)
{
    int apart = 0, loose = 0;
    for (uint64_t seed = first_seed; seed < first_seed + nseeds; seed++) {
        struct fleet f;
        struct ss_program *p = fleet_program(seed, &f);
        double share = compare(p, f.alike);
        CU_ASSERT(share >= 0);
        if (share < 0)
            printf("\n  seed %llu differs\n", (unsigned long long)seed);
        if (f.joined < 2 && !f.crossed) {
            loose++;
            apart += share > 0.2;
        }
        make_free(p);
    }
    printf("\n  %d of %d programs of several islands: more than a fifth of the events apart\n", apart, loose);
    CU_ASSERT(apart > loose / 2);
}

/* ---- by hand ---- */

/* n pairs, each of which sends 2 GB at 1 GB/s; one class more. */
static struct ss_program *pairs(int n)
{
    struct ss_program *p = make_program(2 * n + 1, 1);
    for (int i = 0; i < n; i++) {
        int channel = make_channel(p, 2 * i, 2 * i + 1, 0, make_wire(p, 1e9), 0, 0);
        make_send(p, channel, 2e9);
        make_slot(p, 2 * i, "idle");
        make_compute(p, 2 * i, 0);
        make_recv(p, channel);
        make_wait_recv(p, channel);
        make_slot(p, 2 * i + 1, "idle");
        make_compute(p, 2 * i + 1, 0);
    }
    return p;
}

static void post_at(struct ss_program *p, int cls, int collective, double seconds)
{
    make_compute(p, cls, seconds);
    make_event(p, cls, SS_EV_POST, collective, 0, 0);
    make_event(p, cls, SS_EV_WAIT, 0, 0, 0);
}

/* From 1 s on a collective of a class without messages shares the link of the first pair, which knows nothing of it: both have
 * half of it, and end at 3 s. */
TEST(crossed)
{
    struct ss_program *p = pairs(300);
    int last = p->nclasses - 1, g = make_collective(p, 1, &last, 0);
    make_phase(p, g, 0);
    make_flow(p, g, 0, 1e9);
    post_at(p, last, g, 1);
    struct ss_board *b = replay(p, 0);
    CU_ASSERT_DOUBLE_EQUAL(b->makespan, 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(b->accounts[1].end, 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(b->accounts[3].end, 2, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(b->link_busy[0], 3, 1e-12);
    CU_ASSERT(b->events_apart > 0);
    ss_board_free(b);
    make_free(p);
}

/* The first and the last pair, on islands far from each other, meet at 5 s in a collective of 1 s. */
TEST(meeting)
{
    struct ss_program *p = pairs(300);
    int members[2] = {0, 2 * 299}, g = make_collective(p, 2, members, 0);
    make_phase(p, g, 1);
    post_at(p, members[0], g, 5);
    post_at(p, members[1], g, 0.5);
    struct ss_board *b = replay(p, 0);
    CU_ASSERT_DOUBLE_EQUAL(b->makespan, 6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(b->accounts[members[1]].end, 6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(b->accounts[members[1]].label[SS_LABEL_BUBBLE].sum, 4.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(b->accounts[members[1]].label[SS_LABEL_DP].sum, 1, 1e-12);
    CU_ASSERT(b->events_apart > 0);
    ss_board_free(b);
    make_free(p);
}

/* The first class computes until 5 s; the message without links that it waits for then, from a class far from it, has ended at 3.5 s. */
TEST(far)
{
    struct ss_program *p = pairs(300);
    int channel = make_channel(p, 2 * 299, 0, 0, -1, 0.5, 0);
    make_compute(p, 2 * 299, 3);
    make_send(p, channel, 1);
    make_recv(p, channel);
    make_compute(p, 0, 5);
    make_wait_recv(p, channel);
    make_compute(p, 0, 1);
    struct ss_board *b = replay(p, 0);
    CU_ASSERT_DOUBLE_EQUAL(b->makespan, 6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(b->accounts[0].label[SS_LABEL_COMPUTE].sum, 6, 1e-12);
    CU_ASSERT(b->events_apart > 0);
    ss_board_free(b);
    make_free(p);
}

/* A message that nobody waits for lasts beyond the last class, and is counted until that one has ended. */
TEST(unawaited)
{
    struct ss_program *p = pairs(300);
    int channel = make_channel(p, 0, 1, 0, make_wire(p, 1e9), 0, 0);
    make_send(p, channel, 9e9);
    make_recv(p, channel);
    make_compute(p, 2 * 299, 4);
    struct ss_board *b = replay(p, 0);
    CU_ASSERT_DOUBLE_EQUAL(b->makespan, 4, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(b->link_busy[p->nlinks - 1], 4, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(b->link_busy[0], 2, 1e-12);
    CU_ASSERT(b->events_apart > 0);
    ss_board_free(b);
    make_free(p);
}

/* Where each slot posts, and where classes have templates in common, all is run in the order of time. */
TEST(in_order)
{
    struct ss_program *p = pairs(300);
    for (int c = 0; c < 400; c++)
        post_at(p, c, make_collective(p, 1, &c, 0), 1);
    struct ss_board *b = replay(p, 0);
    CU_ASSERT_EQUAL(b->events_apart, 0);
    ss_board_free(b);
    make_free(p);
    p = pairs(300);
    p->classes[7].slots[1].template_index = p->classes[9].slots[1].template_index;
    b = replay(p, 0);
    CU_ASSERT_EQUAL(b->events_apart, 0);
    ss_board_free(b);
    make_free(p);
}

SUITE(islands)
{
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        nseeds = strtoull(argv[2], NULL, 10);
    return suite_file(argv[0], NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs, the same on every machine: both engines must agree to 1e-9 on when everything ends.
 * A program is written down in an order in which it can run (a wait comes after both posts), so it cannot block.
 * test_replay_random [first seed] [number of seeds]
 */

#include "replay_make.h"
#include "suite.h"

static uint64_t first_seed = 1, nseeds = 500;

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
    int nlinks = 1 + draw_int(&m->d, 6), npaths = 1 + draw_int(&m->d, 8);
    double unit[8];
    for (int l = 0; l < nlinks; l++) {
        make_link(p, m->coarse ? 1e9 * (1 + draw_int(&m->d, 2)) : 1e8 * pow(10, 2 * draw_real(&m->d)));
        unit[l] = m->weights ? 0.5 + 4 * draw_real(&m->d) : 1;
    }
    for (int i = 0; i < npaths; i++) {
        int path = make_path(p), n = draw_int(&m->d, nlinks + 1), start = draw_int(&m->d, nlinks);
        for (int j = 0; j < n; j++) {
            int l = (start + j) % nlinks;
            make_hop(p, path, l, unit[l] * (m->weights ? 1 + draw_int(&m->d, 4) : 1));
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
    int nchannels = 1 + draw_int(&m->d, 8), ncollectives = draw_int(&m->d, 6);
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

static void step(struct maker *m)
{
    struct ss_program *p = m->p;
    int what = draw_int(&m->d, 10), cls = draw_int(&m->d, p->nclasses);
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
        make_event(p, cls, draw_int(&m->d, 2) ? SS_EV_ALLOC : SS_EV_FREE, draw_int(&m->d, SS_MEM_COUNT), 0,
                   amount(m, 1000));
    } else if (what < 8) {
        make_slot(p, cls, "slot");
    } else if (m->nowed) {
        settle(m);
    }
}

static struct ss_program *make_random(uint64_t seed)
{
    struct maker m = {.d = {seed, 0}};
    m.p = make_program(1 + draw_int(&m.d, 6), 2 + draw_int(&m.d, 3));
    m.coarse = draw_int(&m.d, 3) == 0;
    m.wide = draw_int(&m.d, 4) == 0;
    m.weights = draw_int(&m.d, 3) == 0;
    m.shares = draw_int(&m.d, 3) > 0;
    m.p->mixes = make_room(m.p->mixes, m.p->nmixes++, sizeof *m.p->mixes);
    for (int i = 0; i < 4; i++)
        m.p->mixes[1].fraction[3 * i] = 0.25;
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

/* ---- comparison ---- */

static double tolerance; /* s: 1e-9 of the time span looked at */

static int near(double a, double b)
{
    return fabs(a - b) <= tolerance;
}

static int by_name(const void *pa, const void *pb)
{
    const struct heard *a = pa, *b = pb;
    if (a->kind != b->kind)
        return a->kind - b->kind;
    if (a->a != b->a)
        return a->a - b->a;
    if (a->b != b->b)
        return a->b - b->b;
    if (a->c != b->c)
        return a->c - b->c;
    return (a->end > b->end) - (a->end < b->end);
}

/* Spans of no length may be missing on one side. */
static int drop_short(struct ear *e)
{
    int n = 0;
    for (int i = 0; i < e->n; i++)
        if (e->all[i].kind != 's' || e->all[i].end - e->all[i].start > 2 * tolerance)
            e->all[n++] = e->all[i];
    e->n = n;
    qsort(e->all, (size_t)n, sizeof *e->all, by_name);
    return n;
}

static int in_order(const struct ear *e)
{
    for (int i = 1; i < e->n; i++)
        if (e->all[i].end < e->all[i - 1].end)
            return 0;
    return 1;
}

static int same_ears(struct ear *a, struct ear *b)
{
    if (!in_order(a) || !in_order(b) || drop_short(a) != drop_short(b))
        return 0;
    for (int i = 0; i < a->n; i++) {
        const struct heard *x = &a->all[i], *y = &b->all[i];
        if (x->kind != y->kind || x->a != y->a || x->b != y->b || x->c != y->c || x->bytes != y->bytes ||
            !near(x->start, y->start) || !near(x->busy, y->busy) || !near(x->end, y->end))
            return 0;
    }
    return 1;
}

static int same_timelines(const struct ss_program *p, const struct ss_timeline *a,
                          const struct ss_timeline *b)
{
    int same = near(a->iteration_s, b->iteration_s) && a->events == b->events;
    for (int c = 0; c < p->nclasses; c++) {
        double sum = 0;
        for (int i = 0; i < SS_LABEL_COUNT; i++) {
            same &= near(a->spent[c][i], b->spent[c][i]);
            sum += a->spent[c][i];
        }
        same &= fabs(sum - a->iteration_s) <= 1e-12 * a->iteration_s &&
                near(a->peak_time[c], b->peak_time[c]) && a->peak_slot[c] == b->peak_slot[c] &&
                memcmp(a->dynamic_peak[c], b->dynamic_peak[c], sizeof a->dynamic_peak[c]) == 0;
    }
    for (int l = 0; l < p->nlinks; l++)
        same &= near(a->link_busy[l], b->link_busy[l]) && a->link_busy[l] <= a->iteration_s * (1 + 1e-12);
    return same;
}

static int engines_agree(const struct ss_program *p, uint64_t seed)
{
    struct ear ear[2];
    struct ss_replay_stats stats[2] = {{0}};
    struct ss_timeline *lines[2] = {0};
    struct ss_error err = {0};
    int rc = 0, same = 0;
    for (int e = 0; e < 2; e++) {
        rc |= ear_replay(p, e, &ear[e], &stats[e], &err);
        rc |= ss_timeline_replay(p, e, &lines[e], &err);
    }
    if (rc) {
        printf("\n  seed %llu: %s: %s\n", (unsigned long long)seed, err.message, err.hint);
    } else {
        double last = fmax(stats[0].makespan, ear[0].n ? ear[0].all[ear[0].n - 1].end : 0);
        tolerance = 1e-9 * last;
        same = near(stats[0].makespan, stats[1].makespan) && stats[0].events == stats[1].events &&
               same_ears(&ear[0], &ear[1]) && same_timelines(p, lines[0], lines[1]) &&
               lines[0]->iteration_s == stats[0].makespan;
        if (!same)
            printf("\n  seed %llu: native %.17g, simgrid %.17g\n", (unsigned long long)seed,
                   stats[0].makespan, stats[1].makespan);
    }
    for (int e = 0; e < 2; e++) {
        free(ear[e].all);
        ss_timeline_free(lines[e]);
    }
    return same;
}

static void test_random(void)
{
    double total = 0;
    for (uint64_t seed = first_seed; seed < first_seed + nseeds; seed++) {
        struct ss_program *p = make_random(seed);
        struct ss_replay_stats stats = {0};
        CU_ASSERT(engines_agree(p, seed));
        ss_replay(p, SS_ENGINE_NATIVE, NULL, 0, &stats, NULL);
        total += stats.makespan;
        make_free(p);
    }
    CU_ASSERT(total > 0.5 * (double)nseeds); /* the programs do something */
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"random programs", test_random}, CU_TEST_INFO_NULL};
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        nseeds = strtoull(argv[2], NULL, 10);
    return suite_run("replay_random", NULL, NULL, tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs: both engines must agree to 1e-9 on when everything ends.
 * unit_replay replay_random [first seed] [number of seeds]
 */

#include "random_program.h"
#include "stepsim/replay.h"
#include "suite.h"

static uint64_t first_seed = 1, nseeds = 120;

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

TEST(random)
{
    double total = 0;
    for (uint64_t seed = first_seed; seed < first_seed + nseeds; seed++) {
        struct ss_program *p = random_program(seed, 0);
        struct ss_replay_stats stats = {0};
        CU_ASSERT(engines_agree(p, seed));
        ss_replay(p, SS_ENGINE_NATIVE, NULL, 0, &stats, NULL);
        total += stats.makespan;
        make_free(p);
    }
    CU_ASSERT(total > 0.5 * (double)nseeds); /* the programs do something */
}

/* A collective of one class, of one or two phases over the path. */
static int own_collective(struct draw *d, struct ss_program *p, int cls, int path, double sm_share)
{
    int g = make_collective(p, 1, &cls, sm_share);
    for (int i = 0; i <= draw_int(d, 2); i++) {
        make_phase(p, g, draw_int(d, 2) ? 0.01 * draw_real(d) : 0);
        for (int j = 0; j <= draw_int(d, 2); j++)
            make_flow(p, g, path, 1e8 * draw_real(d));
    }
    return g;
}

/*
 * Classes with a link of their own, as a folded stage has its NVLink: collectives on streams 1 and 2 without holds,
 * which SimGrid moves before their time; on stream 0 one that holds SMs and is on that link for longer. A message
 * that takes every other program's first link makes it one that is shared.
 */
static struct ss_program *own_links(uint64_t seed)
{
    struct draw d = {seed, 0};
    int n = 1 + draw_int(&d, 3), posted[4][3] = {{0}};
    struct ss_program *p = make_program(n, 3);
    for (int c = 0; c < n; c++)
        make_wire(p, 1e9);
    int channel = make_channel(p, 0, n - 1, 1, seed % 2 ? make_wire(p, 5e8) : 0, 0.001, seed % 3 ? 0.2 : 0);
    for (int c = 0; c < n; c++)
        for (int s = 0; s < 3; s++)
            own_collective(&d, p, c, c, s ? 0 : 0.3);
    for (int i = 60; i > 0; i--) {
        int c = draw_int(&d, n), what = draw_int(&d, 9), s = what < 2 ? 0 : 1 + draw_int(&d, 2);
        if (what == 8) {
            make_send(p, channel, 3e8);
            make_recv(p, channel);
            make_wait_recv(p, channel);
        } else if (what >= 6) {
            make_compute(p, c, 0.2 * draw_real(&d));
        } else if (posted[c][s] && draw_int(&d, 2)) {
            make_event(p, c, SS_EV_WAIT, 0, s, 0);
            posted[c][s]--;
        } else {
            make_event(p, c, SS_EV_POST, 3 * c + s, s, 0);
            posted[c][s]++;
        }
    }
    return p;
}

TEST(own_links)
{
    for (uint64_t seed = first_seed; seed < first_seed + nseeds / 5; seed++) {
        struct ss_program *p = own_links(seed);
        CU_ASSERT(engines_agree(p, seed));
        make_free(p);
    }
}

SUITE(replay_random)
{
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        nseeds = strtoull(argv[2], NULL, 10);
    ss_simgrid_load(NULL); /* once for all replays */
    return suite_file(argv[0], NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What workers of a search begin before the search asks for it. */
#include "base/base.h"
#include "decide/search_state.h"
#include "suite.h"

enum { LEAVES = 4 };

/* Four layouts of one cluster, whose bounds are 1 to 4 s and 40 to 10 bytes; nothing is known yet. */
struct world {
    struct ss_find_leaf leaf[LEAVES];
    struct ss_find_cluster cluster;
    struct ss_find_group group;
    struct ss_find_result found;
    struct ss_find_space space;
    struct ss_find_options options;
    double within, fastest, near;
    struct ss_find_state x;
};

static struct world *make(void)
{
    struct world *w = ss_calloc(1, sizeof *w);
    CU_ASSERT_FATAL(w != NULL);
    for (int i = 0; i < LEAVES; i++)
        w->leaf[i] = (struct ss_find_leaf){
            .walk = i, .seconds = i + 1, .quick = i + 1, .bytes = 40 - 10 * i, .loose = 1};
    w->found = (struct ss_find_result){.ngroups = 1, .groups = &w->group};
    w->space = (struct ss_find_space){
        .nclusters = 1, .clusters = &w->cluster, .nleaves = LEAVES, .leaves = w->leaf, .found = &w->found};
    w->within = w->fastest = w->near = INFINITY;
    w->x = (struct ss_find_state){.options = &w->options,
                                  .space = &w->space,
                                  .within = &w->within,
                                  .fastest = &w->fastest,
                                  .near = &w->near,
                                  .ahead = {.on = 1}};
    return w;
}

/* The layout that ctx points to is at home. */
static int is_home(void *ctx, int number)
{
    return number == *(const int *)ctx;
}

static int item(enum ss_find_way way, int number)
{
    return (int)way * LEAVES + number;
}

static int next(struct world *w, int home)
{
    return ss_find_ahead_item(&w->x, is_home, &home);
}

/* The answer that a leaf fits, in so many seconds. */
static void note(struct world *w, enum ss_find_way way, int number, double seconds, int doubted)
{
    const struct ss_find_leaf *leaf = &w->leaf[number];
    struct ss_find_point p = {.number = number, .least_s = leaf->seconds, .least_bytes = leaf->bytes};
    p.summary.outcome = SS_OUTCOME_FITS;
    p.summary.iteration_s = seconds;
    p.summary.peak_device = leaf->bytes;
    p.summary.doubted = doubted;
    ss_find_ahead_note(&w->x, item(way, number), &p);
}

/* A bound, then the prediction of what was bounded, then flows of what is doubted; each layout once. */
TEST(steps)
{
    struct world *w = make();
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_TIGHTEN, 0));
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_TIGHTEN, 1));
    note(w, SS_FIND_TIGHTEN, 0, 0, 0);
    note(w, SS_FIND_TIGHTEN, 1, 0, 0);
    CU_ASSERT_EQUAL(next(w, 1), item(SS_FIND_PREDICT, 1)); /* at home */
    note(w, SS_FIND_PREDICT, 1, 2.5, 1);
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_FLOWS, 1));
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_PREDICT, 0));
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_TIGHTEN, 2));
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_TIGHTEN, 3));
    w->x.ahead.on = 0;
    note(w, SS_FIND_TIGHTEN, 2, 0, 0);
    CU_ASSERT_EQUAL(next(w, -1), -1);
    free(w);
}

/* What the search cannot ask for any more is passed over: beyond what is as fast as the best, where a layout that was seen is as
 * good. */
TEST(ruled_out)
{
    struct world *w = make();
    w->within = 1.5;
    for (int i = 0; i < LEAVES; i++)
        w->leaf[i].bytes = 10;
    note(w, SS_FIND_TIGHTEN, 2, 0, 0);
    note(w, SS_FIND_PREDICT, 1, 2, 0);
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_TIGHTEN, 0)); /* not the prediction of 2 */
    w->x.ahead.cursor[0].far = w->x.ahead.cursor[1].far = LEAVES;
    CU_ASSERT_EQUAL(next(w, -1), -1);
    free(w);
}

/* Of layouts near the limit the fastest alone is told: 1 is likely to be slower than 0 of the batch, whose bound is 5 % below; 2 surely
 * fits. */
TEST(late)
{
    struct world *w = make();
    static const int batch[] = {0};
    for (int i = 0; i < 2; i++)
        w->leaf[i].unsure = 1;
    w->leaf[1].seconds = 1.05;
    w->x.next = 1;
    ss_find_ahead_begin(&w->x, batch, 1);
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_TIGHTEN, 2));
    w->leaf[1].seconds = 1.03;
    w->x.ahead.look = 1;
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_TIGHTEN, 1));
    free(w);
}

/* Stages count twice, chunks once: 4 x 4 x 2, 4 x 4, 1 x 1 x 2, 1; equals in their order. */
TEST(longest_first)
{
    struct world *w = make();
    struct ss_find_cluster *c = &w->cluster;
    int numbers[] = {0, 1, 2, 3};
    c->naxes = 2;
    c->axes[0] = (struct ss_find_axis){.kind = SS_FIND_PP, .n = 2, .value = {"1", "4"}};
    c->axes[1] = (struct ss_find_axis){.kind = SS_FIND_VP, .n = 2, .value = {"1", "2"}};
    for (int i = 0; i < LEAVES; i++) {
        w->leaf[i].at[0] = i & 1;
        w->leaf[i].at[1] = i >> 1;
    }
    CU_ASSERT_EQUAL(ss_find_longest_first(&w->space, numbers, LEAVES, NULL), SS_OK);
    static const int first[] = {3, 1, 2, 0};
    CU_ASSERT_EQUAL(memcmp(numbers, first, sizeof first), 0);
    memset(w->leaf[1].at, 0, sizeof w->leaf[1].at);
    memset(w->leaf[3].at, 0, sizeof w->leaf[3].at);
    CU_ASSERT_EQUAL(ss_find_longest_first(&w->space, numbers, LEAVES, NULL), SS_OK);
    static const int then[] = {2, 0, 1, 3};
    CU_ASSERT_EQUAL(memcmp(numbers, then, sizeof then), 0);
    free(w);
}

/* An exhaustive search tells each answer of its long list: of 10 leaves before the next one 4 are listed, and 1 of these is predicted. */
static void told(void *ctx, int64_t done, int64_t all)
{
    int64_t *seen = ctx;
    seen[0] = done;
    seen[1] = all;
}

TEST(told)
{
    struct world *w = make();
    int64_t seen[2] = {0};
    w->options.progress = told;
    w->options.ctx = seen;
    w->x.next = 10;
    w->x.listed = 4;
    ss_find_tell(&w->x, 1);
    CU_ASSERT_EQUAL(seen[0], 7);
    CU_ASSERT_EQUAL(seen[1], LEAVES);
    free(w);
}

/* All can win on the front alone: 1 to 3 wait for 0 of the batch, which is likely to beat them. */
static struct world *make_waiting(void)
{
    struct world *w = make();
    static const int batch[] = {0};
    w->within = 0.5;
    for (int i = 1; i < LEAVES; i++)
        w->leaf[i].bytes = 40;
    w->x.waiting[w->x.nwaiting++] = 2;
    w->x.next = 1;
    ss_find_ahead_begin(&w->x, batch, 1);
    return w;
}

/* Who has nothing else to do begins with what waits, step by step, until it is beaten for certain: layout 0 is at first seen with a time
 * that flows double. */
TEST(waiting)
{
    struct world *w = make_waiting();
    note(w, SS_FIND_PREDICT, 0, 1, 1);
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_FLOWS, 0));
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_TIGHTEN, 2));
    note(w, SS_FIND_TIGHTEN, 2, 0, 0);
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_PREDICT, 2));
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_TIGHTEN, 1));
    note(w, SS_FIND_PREDICT, 2, 3.2, 1);
    note(w, SS_FIND_FLOWS, 0, 2, 0);
    CU_ASSERT_EQUAL(next(w, -1), -1); /* 2 and 3 are beaten in 2 s */
    free(w);
}

/* Layouts in shards that wait come first, for their flows take longest; then the others in their order. */
TEST(waiting_in_shards)
{
    struct world *w = make_waiting();
    w->cluster.naxes = 1;
    w->cluster.axes[0] = (struct ss_find_axis){.kind = SS_FIND_FSDP, .n = 2, .value = {"none", "full"}};
    w->leaf[3].at[0] = 1;
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_TIGHTEN, 3));
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_TIGHTEN, 2));
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_TIGHTEN, 1));
    free(w);
}

/* No more than so many of them, for few are asked for. */
TEST(few_waiting)
{
    struct world *w = make_waiting();
    w->x.ahead.nmaybe = SS_FIND_MAYBE - 1;
    CU_ASSERT_EQUAL(next(w, -1), item(SS_FIND_TIGHTEN, 2));
    CU_ASSERT_EQUAL(next(w, -1), -1);
    free(w);
}

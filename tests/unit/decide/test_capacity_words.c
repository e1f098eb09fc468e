/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan of capacity says of plans that are filled by hand: each sentence where it is true, and no empty one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decide/capacity_internal.h"
#include "suite.h"

#define HAS(text, part) CU_ASSERT_PTR_NOT_NULL(strstr(text, part))
#define LACKS(text, part) CU_ASSERT_PTR_NULL(strstr(text, part))
#define DAY 86400.0

/* The text of a plan, which the caller frees. */
static char *text_of(const struct ss_capacity *c)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(ss_capacity_write(c, SS_CAPACITY_TEXT, NULL, out, NULL), 0);
    fclose(out);
    return text;
}

/* One of four numbers of nodes is refused, one divides the batch of 64 and two do not. 86,400 s are a day, 5.4e9 J are 1.5 MWh. */
TEST(table)
{
    struct ss_capacity_point points[4] = {{.nodes = 1, .gpus = 8, .summary = {.reason = "it is too wide"}}};
    struct ss_capacity_cluster cluster = {.chosen = 1, .sure = -1, .cheapest = -1, .knee = -1};
    struct ss_capacity c = {.tokens = 1e9,
                            .asked_batch = 64,
                            .nclusters = 1,
                            .clusters = &cluster,
                            .npoints = 4,
                            .points = points};

    points[0].summary.outcome = SS_OUTCOME_REFUSED;
    for (int i = 1; i < 4; i++)
        points[i] = (struct ss_capacity_point){.nodes = 1 + i,
                                               .gpus = 8 * (1 + i),
                                               .batch = i == 1 ? 64 : 60,
                                               .summary.iteration_s = 12,
                                               .goodput = 0.875,
                                               .time_s = {86400, NAN, NAN},
                                               .gpu_hours = {2500, NAN, NAN},
                                               .energy_j = {5.4e9, NAN, NAN},
                                               .usd = {NAN, NAN, NAN}};
    char *text = text_of(&c);
    HAS(text,
        "2 nodes is the most of these at which the cost stays within 10 % of the cheapest: 2.50 k GPU-hours, "
        "1.00 days, 1.50 MWh\n");
    HAS(text, "\n    1    8 refused: it is too wide\n");
    HAS(text, "\n2 of them train another batch than 64, which their GPUs do not divide, or not without "
              "losing layouts.\n");
    HAS(text, "fits, batch -6.2 %\n");
    HAS(text, "    62.5 kW in the mean, cooling included\n");
    free(text);
    points[2].batch = points[3].batch = 64;
    text = text_of(&c);
    LACKS(text, "another batch");
    free(text);
}

/* ---- answers ---- */

#define MOST 6

/* A plan of up to two platforms, "a" and "b"; its points keep the order of platforms. */
static struct plan {
    struct ss_capacity c;
    struct ss_capacity_cluster cluster[2];
    struct ss_capacity_point point[MOST];
} made;

static void begin_plan(int platforms)
{
    memset(&made, 0, sizeof made);
    made.c = (struct ss_capacity){
        .tokens = 1e9, .nclusters = platforms, .clusters = made.cluster, .points = made.point};
    for (int k = 0; k < 2; k++)
        made.cluster[k] =
            (struct ss_capacity_cluster){.platform = {(char)('a' + k)}, .rack = 1, .gpus_a_node = 8};
}

/* Adds a number of nodes that takes so many days, and hours of GPUs; no days: it holds no job. */
static void add(int cluster, int nodes, double days, double hours)
{
    struct ss_capacity_point *p = &made.point[made.c.npoints++];
    struct ss_capacity_cluster *k = &made.cluster[cluster];

    *p = (struct ss_capacity_point){.cluster = cluster,
                                    .nodes = nodes,
                                    .gpus = 8 * nodes,
                                    .summary = {.iteration_s = 1, .outcome = SS_OUTCOME_FITS},
                                    .time_s = {days * DAY, days * DAY / 2, days * DAY * 2},
                                    .gpu_hours = {hours, NAN, NAN},
                                    .energy_j = {NAN, NAN, NAN},
                                    .usd = {NAN, NAN, NAN}};
    if (!(days > 0))
        p->summary.outcome = SS_OUTCOME_TOO_LARGE;
    if (k->price > 0)
        p->usd = (struct ss_capacity_range){hours * k->price, NAN, NAN};
    k->most_nodes = nodes > k->most_nodes ? nodes : k->most_nodes;
    k->numbers++;
}

/* The lines of the plan that answer, which the caller frees. */
static char *answer(void)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    ss_capacity_choose(&made.c);
    ss_capacity_answers(&made.c, out);
    fclose(out);
    return text;
}

#define ANSWERS(expected)                                                                                    \
    do {                                                                                                     \
        char *said = answer();                                                                               \
        CU_ASSERT_STRING_EQUAL(said, expected);                                                              \
        free(said);                                                                                          \
    } while (0)

/* One number of nodes is compared with nothing. */
TEST(one)
{
    begin_plan(1);
    add(0, 8, 10, 100);
    ANSWERS("8 nodes take 100 GPU-hours, 10.0 days (5.00 to 20.0)\n");
    char *text = text_of(&made.c);
    HAS(text, " fits\n");
    LACKS(text, "cheapest");
    LACKS(text, "knee");
    free(text);
    made.point[0].nodes = 1;
    ANSWERS("1 node takes 100 GPU-hours, 10.0 days (5.00 to 20.0)\n");
    made.c.deadline_s = 15 * DAY;
    ANSWERS("1 node should do it within 15 days: 100 GPU-hours, 10.0 days (5.00 to 20.0)\n"
            "It is not sure (90 % of such jobs) to keep that.\n");
    made.point[0].summary.outcome = SS_OUTCOME_NEAR_LIMIT;
    made.c.deadline_s = 20 * DAY;
    ANSWERS("1 node should do it within 20 days: 100 GPU-hours, 10.0 days (5.00 to 20.0)\n"
            "It may not fit: the memory is near the limit.\n"
            "It is not sure (90 % of such jobs) to fit the memory; the time is.\n");
    made.cluster[0].most_nodes = 1;
    made.c.deadline_s = 5 * DAY; /* twice the nodes in proportion */
    ANSWERS("1 node is not within 5 days.\nThe job takes 100 GPU-hours, 10.0 days (5.00 to 20.0)\n"
            "In proportion at least 2 nodes would keep the deadline.\n");
    begin_plan(1);
    add(0, 8, 0, 0);
    ANSWERS("8 nodes do not hold the job.\n");
    made.cluster[0].most_nodes = 1;
    ANSWERS("1 node does not hold the job.\n");
    begin_plan(1); /* a range of one number is one number */
    add(0, 8, 10, 100);
    made.cluster[0].look = SS_CAPACITY_EVERY;
    made.c.deadline_s = 40 * DAY;
    ANSWERS("8 nodes should do it within 40 days: 100 GPU-hours, 10.0 days (5.00 to 20.0)\n");
}

/* Each answer says which batch it trains where that is not the asked one. */
TEST(batch)
{
    begin_plan(1);
    made.c.asked_batch = 40;
    add(0, 8, 10, 100);
    made.point[0].batch = 50;
    ANSWERS("8 nodes with batch 50 (+25.0 %) take 100 GPU-hours, 10.0 days (5.00 to 20.0)\n");
    made.c.deadline_s = 5 * DAY;
    made.cluster[0].most_nodes = 8;
    ANSWERS("8 nodes are not within 5 days.\n"
            "The job with batch 50 (+25.0 %) takes 100 GPU-hours, 10.0 days (5.00 to 20.0)\n"
            "In proportion at least 16 nodes would keep the deadline.\n");
    add(0, 16, 6, 110);
    made.point[1].batch = 39;
    ANSWERS("No number of nodes here is within 5 days.\n"
            "The fastest, 16 nodes with batch 39 (-2.5 %): 110 GPU-hours, 6.00 days (3.00 to 12.0)\n"
            "By the trend of the rows at least 21 nodes would keep the deadline.\n");
    made.point[0].batch = 38;
    made.c.deadline_s = 12 * DAY;
    ANSWERS(
        "8 nodes with batch 38 (-5.0 %) should do it, the cheapest of these within 12 days: 100 GPU-hours, "
        "10.0 days (5.00 to 20.0)\n"
        "To be sure (90 % of such jobs), take 16 nodes with batch 39 (-2.5 %): 110 GPU-hours, 6.00 days "
        "(3.00 to 12.0)\n");
}

/* 110 hours are within a tenth of 100, 111 are not. */
TEST(list)
{
    begin_plan(1);
    add(0, 8, 10, 100);
    add(0, 16, 5, 110);
    ANSWERS(
        "16 nodes is the most of these, and its cost stays within 10 % of the cheapest: 110 GPU-hours, 5.00 "
        "days (2.50 to 10.0)\n");
    add(0, 32, 3, 111);
    ANSWERS(
        "16 nodes is the most of these at which the cost stays within 10 % of the cheapest: 110 GPU-hours, "
        "5.00 days (2.50 to 10.0)\n");
    made.c.deadline_s = 12 * DAY;
    ANSWERS("8 nodes should do it, the cheapest of these within 12 days: 100 GPU-hours, 10.0 days (5.00 to "
            "20.0)\n"
            "To be sure (90 % of such jobs), take 16 nodes: 110 GPU-hours, 5.00 days (2.50 to 10.0)\n");
    made.c.deadline_s =
        DAY; /* from 5 days to 3 on twice the nodes: 3 to the power log 2 / log (5 / 3) times 32 is 142.1 */
    ANSWERS("No number of nodes here is within 1 day.\n"
            "The fastest, 32 nodes: 111 GPU-hours, 3.00 days (1.50 to 6.00)\n"
            "By the trend of the rows at least 143 nodes would keep the deadline.\n");
    begin_plan(1);
    made.cluster[0].price = 2;
    add(0, 8, 10, 100);
    add(0, 16, 5, 110);
    add(0, 32, 3, 111);
    made.c.budget_usd = 1e6;
    made.c.deadline_s = DAY / 2; /* 6 to the power log 2 / log (5 / 3) times 32 is 363.9 */
    ANSWERS("No number of nodes here is within 12 h and 1.00 M USD.\n"
            "The fastest, 32 nodes: 111 GPU-hours, 3.00 days (1.50 to 6.00), 222 USD\n"
            "By the trend of the rows at least 364 nodes would keep the deadline.\n");
    made.c.budget_usd = 50;
    made.c.deadline_s = 7 * DAY;
    ANSWERS("No number of nodes here is within 7 days and 50.0 USD.\n"
            "The cheapest in time, 16 nodes: 110 GPU-hours, 5.00 days (2.50 to 10.0), 220 USD\n");
    begin_plan(1);
    add(0, 4, 0, 0);
    add(0, 8, 10, 100);
    ANSWERS(
        "8 nodes is the only number of these that holds the job: 100 GPU-hours, 10.0 days (5.00 to 20.0)\n");
    begin_plan(1);
    add(0, 4, 0, 0);
    add(0, 8, 0, 0);
    ANSWERS("No number of nodes here holds the job.\n");
}

/* What was looked at of the 57 numbers from 8 to 64. */
TEST(range)
{
    static const char best[] =
        "8 nodes should do it, the cheapest within 40 days: 100 GPU-hours, 10.0 days (5.00 to "
        "20.0)\n";
    static const struct {
        const char *said;
        int look, layout, hopeless, near;
        double budget;
    } cases[] = {
        {"All 57 numbers of nodes were searched, with all layouts\n", SS_CAPACITY_EVERY, SS_CAPACITY_SEARCH,
         0, 0, 0},
        {"All 57 numbers of nodes that the layout divides were predicted\n", SS_CAPACITY_EVERY,
         SS_CAPACITY_GIVEN, 0, 0, 0},
        {"6 of 57 numbers of nodes take longer even at the card's peak; all others were searched, with all "
         "layouts\n",
         SS_CAPACITY_EVERY, SS_CAPACITY_SEARCH, 6, 0, 0},
        {"6 of 57 numbers of nodes take longer even at the card's peak; all others that the layout divides "
         "were "
         "predicted\n",
         SS_CAPACITY_EVERY, SS_CAPACITY_GIVEN, 6, 0, 0},
        {"6 of 57 numbers of nodes take longer or cost more even at the card's peak; those about the answer "
         "were "
         "predicted\n",
         SS_CAPACITY_LAYOUTS, SS_CAPACITY_GIVEN, 6, 0, 1000},
        {"Numbers of nodes about the answer were predicted with the layouts that are best on the rows, the "
         "nearest "
         "4 were searched\n",
         SS_CAPACITY_LAYOUTS, SS_CAPACITY_SEARCH, 0, 4, 0},
    };
    char said[400];

    begin_plan(1);
    made.cluster[0].price = 2;
    add(0, 8, 10, 100);
    add(0, 64, 2, 120);
    made.point[0].usd.value = made.point[1].usd.value = NAN;
    made.cluster[0].numbers = 57;
    made.c.deadline_s = 40 * DAY;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made.cluster[0].look = cases[i].look;
        made.c.layout = cases[i].layout;
        made.cluster[0].hopeless = cases[i].hopeless;
        made.cluster[0].near = cases[i].near;
        made.c.budget_usd = cases[i].budget;
        if (made.c.budget_usd > 0)
            made.point[0].usd = made.point[1].usd = (struct ss_capacity_range){500, 500, 500};
        else
            made.point[0].usd = made.point[1].usd = (struct ss_capacity_range){NAN, NAN, NAN};
        snprintf(said, sizeof said, "%s%s", made.c.budget_usd > 0 ? "" : best, cases[i].said);
        char *text = answer();
        HAS(text, said);
        free(text);
    }
    made.c.deadline_s = DAY;
    made.c.budget_usd = 0;
    made.cluster[0].most_nodes = 64;
    char *text = answer();
    HAS(text, "No number of nodes up to 64 is within 1 day.\n");
    free(text);
}

/* Prices of one basis are compared among platforms that hold the job; one whose rival does not has no basis of its own. */
TEST(two)
{
    begin_plan(2);
    for (int k = 0; k < 2; k++) {
        made.cluster[k].price = 2 + k;
        snprintf(made.cluster[k].basis, sizeof made.cluster[k].basis, "a list");
    }
    add(0, 8, 10, 100);
    add(1, 8, 10, 50);
    ANSWERS("a: 8 nodes take 100 GPU-hours, 10.0 days (5.00 to 20.0), 200 USD\n"
            "b: 8 nodes take 50.0 GPU-hours, 10.0 days (5.00 to 20.0), 150 USD\n"
            "Cheapest of the 2 with prices of one basis (a list): b, 150 USD\n");
    made.point[0].summary.outcome = SS_OUTCOME_TOO_LARGE;
    ANSWERS("a: 8 nodes do not hold the job.\nb: 8 nodes take 50.0 GPU-hours, 10.0 days (5.00 to 20.0), 150 "
            "USD\n");
    made.point[0].summary.outcome = SS_OUTCOME_FITS;
    snprintf(made.cluster[1].basis, sizeof made.cluster[1].basis, "another");
    char *text = answer();
    HAS(text, "The price of a has a basis of its own (a list): only its GPU-hours can be compared\n"
              "The price of b has a basis of its own (another): only its GPU-hours can be compared\n");
    free(text);
}

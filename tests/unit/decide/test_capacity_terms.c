/* SPDX-License-Identifier: Apache-2.0 */
/* The terms of a plan of capacity: checkpoints, energy, money, batches, which point is the answer, and amounts in words. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decide/capacity_internal.h"
#include "job_helper.h"
#include "suite.h"

/* ---- checkpoints ---- */

/* 50 s to write, a failure every 10,000 s: Young's sqrt(2 x 50 x 10,000) is 1,000; Daly's terms are 1 + 0.05 / 3 + 0.0025 / 9 of it, less
 * the 50. Between them e^0.10169 - 1 = 0.107045 mean times of a failure pass for 0.096694 of work. */
TEST(interval)
{
    double interval = ss_checkpoint_interval(50, 10000);

    CU_ASSERT_DOUBLE_EQUAL(interval, 966.9444444, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(ss_checkpoint_goodput(interval, 50, 0, 10000), 0.9033052, 1e-6);
    /* restarts take e^-0.06 of it */
    CU_ASSERT_DOUBLE_EQUAL(ss_checkpoint_goodput(interval, 50, 600, 10000), 0.9033052 * 0.9417645, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(ss_checkpoint_interval(30000, 10000), 10000,
                           0); /* longer to write than two failures */
    CU_ASSERT_DOUBLE_EQUAL(ss_checkpoint_interval(0, 10000), 0, 0);
    CU_ASSERT_DOUBLE_EQUAL(ss_checkpoint_goodput(0, 0, 600, 10000), 0.9417645, 1e-6);
}

/* No other interval loses less: Daly's is within a thousandth of the best one found by steps. */
TEST(interval_is_best)
{
    static const double writes[] = {1, 20, 300};

    for (int i = 0; i < 3; i++) {
        double best = 0,
               found = ss_checkpoint_goodput(ss_checkpoint_interval(writes[i], 7200), writes[i], 0, 7200);
        for (double t = 10; t < 20000; t *= 1.01)
            best = fmax(best, ss_checkpoint_goodput(t, writes[i], 0, 7200));
        CU_ASSERT(found > best - 1e-3 && found <= best + 1e-4);
    }
}

/* ---- figures ---- */

static struct ss_capacity_cluster one;

static struct ss_capacity plan_of(struct ss_capacity_point *points, int n)
{
    one = (struct ss_capacity_cluster){.gpu_w = 500,
                                       .idle = 0.2,
                                       .node_w = 1000,
                                       .pue = 1.5,
                                       .price = 2,
                                       .mtbf_h = 1e12,
                                       .restart_s = 0,
                                       .storage = 1e9};
    return (struct ss_capacity){
        .tokens = 1e6, .nclusters = 1, .clusters = &one, .npoints = n, .points = points};
}

/* 1,000,000 tokens of 999 an iteration are 1,002 whole ones of 10 s: 10,020 s on 16 GPUs, of which half the time works. Two nodes draw
 * 16 x 500 x (0.5 + 0.5 x 0.2) + 2 x 1,000 = 6,800 W, the building 1.5 times that. */
TEST(figures)
{
    struct ss_capacity_point p = {.nodes = 2,
                                  .gpus = 16,
                                  .busy_share = 0.5,
                                  .summary = {.iteration_s = 10, .time_low_pct = -20, .time_high_pct = 50}};
    struct ss_capacity c = plan_of(&p, 1);

    ss_capacity_figures(&c, &p, 999);
    CU_ASSERT_DOUBLE_EQUAL(p.iterations, 1002, 0);
    CU_ASSERT_DOUBLE_EQUAL(p.goodput, 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(p.time_s.value, 10020, 1e-5);
    CU_ASSERT_DOUBLE_EQUAL(p.time_s.low, 8016, 1e-5);
    CU_ASSERT_DOUBLE_EQUAL(p.time_s.high, 15030, 1e-5);
    CU_ASSERT_DOUBLE_EQUAL(p.gpu_hours.value, 44.5333333, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(p.usd.value, 89.0666667, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(p.usd.high, 133.6, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(p.energy_j.value, 10020 * 10200., 1e-2);
    ss_capacity_figures(&c, &p, 1000); /* which divide: no iteration more */
    CU_ASSERT_DOUBLE_EQUAL(p.iterations, 1000, 0);
    p.summary.time_low_pct = p.summary.time_high_pct = NAN;
    one.price = one.node_w = 0;
    ss_capacity_figures(&c, &p, 1000);
    CU_ASSERT(isnan(p.time_s.low) && isnan(p.usd.value) && isnan(p.energy_j.value));
}

/* 100 GB over two nodes of 1 GB/s take 50 s; a GPU of 16 that fails in 160,000 s is a failure in 10,000. In 966.9 of 1,016.9 s the
 * job trains, and that in 0.94 of the time: GPUs are busy 0.5 x 0.894 of it. */
TEST(failures)
{
    struct ss_capacity_point p = {
        .nodes = 2, .gpus = 16, .busy_share = 0.5, .checkpoint_bytes = 1e11, .summary.iteration_s = 10};
    struct ss_capacity c = plan_of(&p, 1);

    one.mtbf_h = 160000 / 3600.;
    one.restart_s = 600;
    ss_capacity_figures(&c, &p, 1000);
    CU_ASSERT_DOUBLE_EQUAL(p.checkpoint_s, 50, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(p.mtbf_s, 10000, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(p.interval_s, 966.9444444, 1e-5);
    CU_ASSERT_DOUBLE_EQUAL(p.goodput, 0.8507008, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(p.time_s.value, 10000 / 0.8507008, 0.1);
    double busy = 0.5 * 0.94 * 966.9444444 / 1016.9444444;
    CU_ASSERT_DOUBLE_EQUAL(p.energy_j.value / p.time_s.value,
                           1.5 * (16 * 500 * (busy + 0.2 * (1 - busy)) + 2000), 1e-3);
}

/* ---- batches ---- */

TEST(batches)
{
    CU_ASSERT_EQUAL(ss_capacity_nearest(1024, 192), 960); /* 5.33 times */
    CU_ASSERT_EQUAL(ss_capacity_nearest(1024, 384), 1152);
    CU_ASSERT_EQUAL(ss_capacity_nearest(96, 192), 192); /* half: up */
    CU_ASSERT_EQUAL(ss_capacity_nearest(10, 192), 192);
    CU_ASSERT_EQUAL(ss_capacity_nearest(1024, 64), 1024);
}

/* 1,000 sequences divide over 8 replicas of 64 GPUs, 1,024 over all 64. 7,168 GPUs are 7 times 1,024: the multiple of 896 nearest to
 * 2,048 is an eighth away; 2,016 is 9 times 224. */
TEST(search_batches)
{
    static const struct {
        int asked, gpus, n, batch[2];
    } of[] = {{1024, 64, 1, {1024}},   {1000, 64, 2, {1000, 1024}}, {1024, 32768, 1, {1024}},
              {1024, 192, 1, {960}},   {1024, 384, 1, {960}},       {4, 56, 1, {7}},
              {2048, 5632, 1, {2112}}, {2048, 7168, 1, {2016}},     {2048, 5472, 1, {2052}},
              {2100, 5632, 1, {2112}}};

    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        int batch[2] = {0}, n = ss_capacity_batches(of[i].asked, of[i].gpus, batch);
        CU_ASSERT_EQUAL(n, of[i].n);
        CU_ASSERT_EQUAL(batch[0], of[i].batch[0]);
        CU_ASSERT(n < 2 || batch[1] == of[i].batch[1]);
    }
}

/* ---- which point ---- */

static struct ss_capacity_point point_of(int nodes, double days, double hours)
{
    return (struct ss_capacity_point){.nodes = nodes,
                                      .gpus = 8 * nodes,
                                      .summary = {.iteration_s = 1, .outcome = SS_OUTCOME_FITS},
                                      .time_s = {days * 86400, days * 0.8 * 86400, days * 1.25 * 86400},
                                      .gpu_hours = {hours, hours * 0.8, hours * 1.25},
                                      .usd = {2 * hours, 1.6 * hours, 2.5 * hours}};
}

TEST(choice)
{
    struct ss_capacity_point p[] = {point_of(4, 100, 1050), point_of(8, 50, 1000), point_of(16, 26, 1080),
                                    point_of(32, 15, 1300), point_of(64, 2, 100)};
    struct ss_capacity c = plan_of(p, 5);

    p[4].summary.outcome = SS_OUTCOME_TOO_LARGE; /* counts nowhere */
    ss_capacity_choose(&c);
    CU_ASSERT_EQUAL(one.cheapest, 1);
    CU_ASSERT_EQUAL(one.knee, 2); /* 1,080 is within 1,100 */
    CU_ASSERT_EQUAL(one.chosen, 2);
    CU_ASSERT_EQUAL(one.sure, -1);
    c.deadline_s = 30 * 86400.; /* 26, but not 32.5 */
    ss_capacity_choose(&c);
    CU_ASSERT_EQUAL(one.chosen, 2);
    CU_ASSERT_EQUAL(one.sure, 3);
    p[2].gpu_hours.value = 1400; /* more nodes are cheaper */
    ss_capacity_choose(&c);
    CU_ASSERT_EQUAL(one.chosen, 3);
    p[2].gpu_hours.value = 1080;
    c.budget_usd = 2200; /* 2,160 on 16 nodes, 2,600 on 32; nothing by the far end */
    ss_capacity_choose(&c);
    CU_ASSERT_EQUAL(one.chosen, 2);
    CU_ASSERT_EQUAL(one.sure, -1);
    c.budget_usd = 0;
    c.deadline_s = 10 * 86400.;
    ss_capacity_choose(&c);
    CU_ASSERT_EQUAL(one.chosen, -1);
    CU_ASSERT_EQUAL(one.sure, -1);
    c.deadline_s = 0;
    c.budget_usd = 2600; /* 2,600 on 32 nodes; by the far end 2,500 on 8 */
    ss_capacity_choose(&c);
    CU_ASSERT_EQUAL(one.chosen, 3);
    CU_ASSERT_EQUAL(one.sure, 1);
    p[2].summary.outcome = SS_OUTCOME_NEAR_LIMIT; /* may be the answer, but is not sure to be */
    c.budget_usd = 0;
    c.deadline_s = 33 * 86400.; /* 32.5 by the far end */
    ss_capacity_choose(&c);
    CU_ASSERT_EQUAL(one.chosen, 2);
    CU_ASSERT_EQUAL(one.sure, 3);
}

/* 34 sequences are a sixteenth more than 32, 35 are farther: they are an answer only where no other is, be they faster or cheaper. */
TEST(far_batch)
{
    struct ss_capacity_point p[] = {point_of(4, 40, 1050), point_of(8, 20, 1000), point_of(16, 10, 900)};
    struct ss_capacity c = plan_of(p, 3);

    c.asked_batch = 32;
    p[0].batch = 32;
    p[1].batch = 34;
    p[2].batch = 35;
    ss_capacity_choose(&c);
    CU_ASSERT_EQUAL(one.cheapest, 1);
    CU_ASSERT_EQUAL(one.knee, 1);
    c.budget_usd = 4000;
    ss_capacity_choose(&c);
    CU_ASSERT_EQUAL(one.chosen, 1);
    CU_ASSERT_EQUAL(one.sure, 1);
    CU_ASSERT(ss_capacity_is_rival(&c, &p[0], 1) && !ss_capacity_is_rival(&c, &p[2], 1));
    c.deadline_s = 24 * 86400.; /* 20 days, by the far end 25 */
    ss_capacity_choose(&c);
    CU_ASSERT_EQUAL(one.chosen, 1);
    CU_ASSERT_EQUAL(one.sure, 2);
    c.deadline_s = 15 * 86400.;
    ss_capacity_choose(&c);
    CU_ASSERT_EQUAL(one.chosen, 2);
    CU_ASSERT(ss_capacity_is_rival(&c, &p[2], 2) && !ss_capacity_is_rival(&c, &p[2], -1));
    p[0].batch = p[1].batch = 35; /* all are as far */
    c.deadline_s = c.budget_usd = 0;
    ss_capacity_choose(&c);
    CU_ASSERT_EQUAL(one.cheapest, 2);
    CU_ASSERT_EQUAL(one.knee, 2);
}

/* From 4 to 16 nodes days fall from 100 to 25, as 1 / nodes: 5 days take 80. From 4 to 16 they fall to 50, as the root of it: 20 take 100, in
 * racks of 18 108. Where days do not fall, or where nothing is half as large, no number is told, or that of perfect scaling. */
TEST(trend)
{
    struct ss_capacity_point p[] = {point_of(4, 100, 1000), point_of(12, 1, 1), point_of(16, 25, 1000)};
    struct ss_capacity c = plan_of(p, 3);

    int by_rows = 0;

    one.rack = 1;
    c.deadline_s = 5 * 86400.;
    CU_ASSERT_EQUAL(ss_capacity_trend(&c, &p[2], &by_rows), 80);
    CU_ASSERT_EQUAL(by_rows, 1);
    p[2].time_s.value = 50 * 86400.;
    c.deadline_s = 20 * 86400.;
    CU_ASSERT_EQUAL(ss_capacity_trend(&c, &p[2], &by_rows), 100);
    one.rack = 18;
    CU_ASSERT_EQUAL(ss_capacity_trend(&c, &p[2], &by_rows), 108);
    p[2].time_s.value = 101 * 86400.;
    CU_ASSERT_EQUAL(ss_capacity_trend(&c, &p[2], &by_rows), 0);
    one.rack = 1;
    CU_ASSERT_EQUAL(ss_capacity_trend(&c, &p[0], &by_rows), 20);
    CU_ASSERT_EQUAL(by_rows, 0);
}

/* ---- words ---- */

TEST(words)
{
    static const char *const wrong[] = {"", "T", "1x", "-5", "0", "1 T", "1e999", "nan", "inf", "0x10"};
    double x = 0;
    struct ss_error err;

    CU_ASSERT(!ss_capacity_read_tokens("15.6T", &x, &err) && fabs(x - 15.6e12) < 1);
    CU_ASSERT(!ss_capacity_read_tokens("2e12", &x, &err) && x == 2e12);
    CU_ASSERT(!ss_capacity_read_time("54d", &x, &err) && x == 54 * 86400.);
    CU_ASSERT(!ss_capacity_read_time("90min", &x, &err) && x == 5400);
    CU_ASSERT(!ss_capacity_read_money("5M", &x, &err) && x == 5e6);
    CU_ASSERT(!ss_capacity_read_money("1.5kUSD", &x, &err) && x == 1500);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CU_ASSERT_EQUAL(ss_capacity_read_tokens(wrong[i], &x, &err), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_capacity_read_time("54", &x, &err), SS_ERR_USAGE);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a plan of capacity for people. */
#include "decide/capacity_internal.h"
#include "report/common.h"
#include "report/text.h"

/* Writes three digits; with `letters` a large number gets a letter: "30.8 M". Returns buf. */
static const char *digits(double value, bool letters, char buf[32])
{
    static const char *const letter[] = {"", " k", " M", " G"};
    int i = 0;

    for (; letters && i < 3 && value >= 999.5; i++)
        value /= 1000;
    if (isnan(value))
        ss_copy(buf, 32, "-");
    else
        snprintf(buf, 32, "%.*f%s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, letter[i]);
    return buf;
}

#define DAY 86400.0
#define MWH 3.6e9

/* Writes "23.1 days (20.1 to 26.6)"; without the range where the error is not known. */
static void put_range(const struct ss_capacity_range *r, double one, bool letters, const char *unit,
                      FILE *out)
{
    char a[32], b[32];

    fprintf(out, "%s %s", digits(r->value / one, letters, a), unit);
    if (!isnan(r->low) && !isnan(r->high) && r->high > r->low)
        fprintf(out, " (%s to %s)", digits(r->low / one, letters, a), digits(r->high / one, letters, b));
}

static int is_limited(const struct ss_capacity *c)
{
    return c->deadline_s > 0 || c->budget_usd > 0;
}

/* Counts the points of a platform: all, or those that hold the job. */
static int count(const struct ss_capacity *c, int cluster, bool held)
{
    int n = 0;

    for (int i = 0; i < c->npoints; i++)
        n += c->points[i].cluster == cluster && (!held || ss_capacity_holds(&c->points[i]));
    return n;
}

/* Returns 1 where the answer is one of nothing: one number of nodes was asked for. */
static int is_one(const struct ss_capacity *c, int cluster)
{
    const struct ss_capacity_cluster *k = &c->clusters[cluster];

    return k->numbers == 1 || (k->look == SS_CAPACITY_LISTED && count(c, cluster, false) == 1);
}

/* Writes what a point takes, GPU-hours first: they need no price. */
static void write_cost(const struct ss_capacity_point *p, FILE *out)
{
    put_range(&p->gpu_hours, 1, true, "GPU-hours", out);
    fputs(", ", out);
    put_range(&p->time_s, DAY, false, "days", out);
    if (!isnan(p->usd.value)) {
        fputs(", ", out);
        put_range(&p->usd, 1, true, "USD", out);
    }
    if (!isnan(p->energy_j.value)) {
        fputs(", ", out);
        put_range(&p->energy_j, MWH, false, "MWh", out);
    }
    fputc('\n', out);
}

/* Writes "40 nodes", with the racks that they are bought in: "1368 nodes in 76 racks". */
static void write_nodes(const struct ss_capacity *c, const struct ss_capacity_point *p, FILE *out)
{
    int rack = c->clusters[p->cluster].rack;

    fprintf(out, "%d node%s", p->nodes, ss_plural(p->nodes));
    if (rack > 1 && p->nodes >= rack)
        fprintf(out, " in %d rack%s", (p->nodes + rack - 1) / rack, p->nodes > rack ? "s" : "");
}

/* Writes " with batch 1040 (+1.6 %)" where that is not the asked one. */
static void write_batch(const struct ss_capacity *c, const struct ss_capacity_point *p, FILE *out)
{
    if (p->batch != c->asked_batch)
        fprintf(out, " with batch %d (%+.1f %%)", p->batch,
                100. * (p->batch - c->asked_batch) / c->asked_batch);
}

/* Returns whether a point of the cluster holds the job, and in time where `late` is 0. */
static int is_near(const struct ss_capacity *c, const struct ss_capacity_point *p, int cluster, int late)
{
    return p->cluster == cluster && ss_capacity_holds(p) && (late || p->time_s.value <= c->deadline_s);
}

/* Writes the point nearest to a deadline or budget that no number of nodes meets: the cheapest of those in time, else the fastest. */
static void write_nearest(const struct ss_capacity *c, int cluster, FILE *out)
{
    const struct ss_capacity_point *best = NULL;
    int late = 1;

    for (int i = 0; i < c->npoints; i++)
        late &= !is_near(c, &c->points[i], cluster, 0);
    int cheapest = !late || !(c->deadline_s > 0);
    for (int i = 0; i < c->npoints; i++) {
        const struct ss_capacity_point *p = &c->points[i];
        double value = cheapest ? p->usd.value : p->time_s.value;
        double least = !best ? INFINITY : cheapest ? best->usd.value : best->time_s.value;
        if (is_near(c, p, cluster, late) && value < least)
            best = p;
    }
    if (!best)
        return;
    if (is_one(c, cluster)) {
        fputs("The job", out);
        write_batch(c, best, out);
        fputs(" takes ", out);
    } else {
        fprintf(out, "The %s, ", !cheapest ? "fastest" : late ? "cheapest" : "cheapest in time");
        write_nodes(c, best, out);
        write_batch(c, best, out);
        fputs(": ", out);
    }
    write_cost(best, out);
    int by_rows = 0, nodes = cheapest ? 0 : ss_capacity_trend(c, best, &by_rows);
    if (nodes > c->clusters[cluster].most_nodes)
        fprintf(out, "%s at least %d nodes would keep the deadline.\n",
                by_rows ? "By the trend of the rows" : "In proportion", nodes);
}

/* Writes "90 days", "5.00 M USD" or "90 days and 5.00 M USD". Returns buf. */
static const char *limits(const struct ss_capacity *c, char buf[96])
{
    char time[32] = "", money[32], usd[48] = "";

    if (c->deadline_s >= 86400)
        snprintf(time, sizeof time, "%g day%s", c->deadline_s / 86400, c->deadline_s > 86400 ? "s" : "");
    else if (c->deadline_s >= 3600)
        snprintf(time, sizeof time, "%g h", c->deadline_s / 3600);
    else if (c->deadline_s > 0)
        ss_text_time(c->deadline_s, time, sizeof time);
    if (c->budget_usd > 0)
        snprintf(usd, sizeof usd, "%s USD", digits(c->budget_usd, true, money));
    snprintf(buf, 96, "%s%s%s", time, time[0] && usd[0] ? " and " : "", usd);
    return buf;
}

/* Writes how the numbers of nodes of a range were looked at. */
static void write_look(const struct ss_capacity *c, int cluster, FILE *out)
{
    const struct ss_capacity_cluster *k = &c->clusters[cluster];
    int given = c->layout == SS_CAPACITY_GIVEN;

    if (k->look == SS_CAPACITY_LISTED || is_one(c, cluster))
        return;
    if (k->hopeless)
        fprintf(out, "%d of %d numbers of nodes %s even at the card's peak; ", k->hopeless, k->numbers,
                !(c->budget_usd > 0) ? "take longer"
                : c->deadline_s > 0  ? "take longer or cost more"
                                     : "cost more");
    if (k->look == SS_CAPACITY_EVERY && !k->hopeless)
        fprintf(out, "All %d numbers of nodes%s", k->numbers,
                given ? "" : " were searched, with all layouts");
    else if (k->look == SS_CAPACITY_EVERY)
        fputs(given ? "all others" : "all others were searched, with all layouts", out);
    else
        fprintf(out, "%s about the answer were predicted%s", k->hopeless ? "those" : "Numbers of nodes",
                given ? "" : " with the layouts that are best on the rows");
    if (k->look == SS_CAPACITY_EVERY && given)
        fputs(" that the layout divides were predicted", out);
    if (k->near)
        fprintf(out, ", the nearest %d were searched", k->near);
    fputc('\n', out);
}

/* Writes the answer that 90 % of such jobs keep, or which of time and memory no number of nodes is sure of. */
static void write_sure(const struct ss_capacity *c, int cluster, FILE *out)
{
    const struct ss_capacity_cluster *k = &c->clusters[cluster];
    int in_time = 0;

    if (k->sure >= 0 && k->sure != k->chosen) {
        fputs("To be sure (90 % of such jobs), take ", out);
        write_nodes(c, &c->points[k->sure], out);
        write_batch(c, &c->points[k->sure], out);
        fputs(": ", out);
        write_cost(&c->points[k->sure], out);
    }
    if (k->sure >= 0)
        return;
    for (int i = 0; i < c->npoints; i++)
        in_time |= c->points[i].cluster == cluster && ss_capacity_keeps(c, &c->points[i], 1);
    fprintf(out, "%s sure (90 %% of such jobs) to %s.\n",
            is_one(c, cluster) ? "It is not" : "None of these is",
            in_time ? "fit the memory; the time is" : "keep that");
}

/* Writes the words before the figures of the knee, and what they are compared with. */
static void write_knee(const struct ss_capacity *c, int cluster, FILE *out)
{
    const struct ss_capacity_point *p = &c->points[c->clusters[cluster].chosen];
    int is_last = 1;

    for (int i = 0; i < c->npoints; i++)
        is_last = is_last && !(c->points[i].cluster == cluster && c->points[i].nodes > p->nodes);
    write_nodes(c, p, out);
    write_batch(c, p, out);
    if (is_one(c, cluster))
        fprintf(out, " take%s ", p->nodes == 1 ? "s" : "");
    else if (count(c, cluster, true) == 1)
        fputs(" is the only number of these that holds the job: ", out);
    else if (is_last)
        fputs(" is the most of these, and its cost stays within 10 % of the cheapest: ", out);
    else
        fputs(" is the most of these at which the cost stays within 10 % of the cheapest: ", out);
}

/* Writes that no number of nodes holds the job, or that none keeps the limits. */
static void write_none(const struct ss_capacity *c, int cluster, FILE *out)
{
    const struct ss_capacity_cluster *k = &c->clusters[cluster];
    int held = count(c, cluster, true), one = is_one(c, cluster);
    char a[96], who[64] = "No number of nodes here";

    if (one)
        snprintf(who, sizeof who, "%d node%s", k->most_nodes, ss_plural(k->most_nodes));
    else if (k->look != SS_CAPACITY_LISTED)
        snprintf(who, sizeof who, "No number of nodes up to %d", k->most_nodes);
    if (!held) {
        fprintf(out, "%s %s the job.\n", who,
                !one                 ? "holds"
                : k->most_nodes == 1 ? "does not hold"
                                     : "do not hold");
        return;
    }
    fprintf(out, "%s %s within %s.\n", who,
            !one                 ? "is"
            : k->most_nodes == 1 ? "is not"
                                 : "are not",
            limits(c, a));
    write_nearest(c, cluster, out);
    write_look(c, cluster, out);
}

static void write_answer(const struct ss_capacity *c, int cluster, FILE *out)
{
    const struct ss_capacity_cluster *k = &c->clusters[cluster];
    int limited = is_limited(c), one = is_one(c, cluster);
    char a[96];

    if (c->nclusters > 1)
        fprintf(out, "%s: ", k->platform);
    if (k->chosen < 0) {
        write_none(c, cluster, out);
        return;
    }
    const struct ss_capacity_point *p = &c->points[k->chosen];
    if (limited) {
        write_nodes(c, p, out);
        write_batch(c, p, out);
        fprintf(out, " should do it%s%s within %s: ",
                one                 ? ""
                : c->deadline_s > 0 ? ", the cheapest"
                                    : ", the fastest",
                one || k->look != SS_CAPACITY_LISTED ? "" : " of these", limits(c, a));
    } else {
        write_knee(c, cluster, out);
    }
    write_cost(p, out);
    if (p->summary.outcome == SS_OUTCOME_NEAR_LIMIT)
        fputs("It may not fit: the memory is near the limit.\n", out);
    if (limited)
        write_sure(c, cluster, out);
    else if (p->time_s.value > 10 * 365 * DAY)
        fputs("That is more than ten years: ask for more --nodes, or for a --deadline.\n", out);
    write_look(c, cluster, out);
}

static int is_priced(const struct ss_capacity *c, int cluster)
{
    const struct ss_capacity_cluster *k = &c->clusters[cluster];

    return k->chosen >= 0 && k->price > 0 && k->basis[0];
}

/* Names the cheapest of the platforms whose prices are of the basis of the k-th, which is the first of them. */
static void write_cheapest(const struct ss_capacity *c, int k, FILE *out)
{
    const struct ss_capacity_cluster *at = c->clusters;
    int best = k, n = 0, like = 0;
    char usd[32];

    for (int o = 0; o < c->nclusters; o++)
        like += at[o].price > 0 && !strcmp(at[o].basis, at[k].basis);
    for (int o = k; o < c->nclusters; o++)
        if (is_priced(c, o) && !strcmp(at[o].basis, at[k].basis)) {
            n++;
            best = c->points[at[o].chosen].usd.value < c->points[at[best].chosen].usd.value ? o : best;
        }
    if (n > 1)
        fprintf(out, "Cheapest of the %d with prices of one basis (%s): %s, %s USD\n", n, at[k].basis,
                at[best].platform, digits(c->points[at[best].chosen].usd.value, true, usd));
    else if (at[k].basis[0] && like == 1)
        fprintf(out, "The price of %s has a basis of its own (%s): only its GPU-hours can be compared\n",
                at[k].platform, at[k].basis);
}

void ss_capacity_answers(const struct ss_capacity *c, FILE *out)
{
    for (int k = 0; k < c->nclusters; k++)
        write_answer(c, k, out);
    for (int k = 0; k < c->nclusters && c->nclusters > 1; k++) {
        int is_first = is_priced(c, k);
        for (int o = 0; o < k; o++)
            is_first = is_first && !(is_priced(c, o) && !strcmp(c->clusters[o].basis, c->clusters[k].basis));
        if (is_first)
            write_cheapest(c, k, out);
    }
}

void ss_capacity_verdict(const struct ss_capacity *c, int i, FILE *out)
{
    const struct ss_capacity_point *p = &c->points[i];
    const struct ss_capacity_cluster *k = &c->clusters[p->cluster];

    int alone = count(c, p->cluster, true) == 1; /* nothing is dearer, and no curve has a knee */

    fprintf(out, "%s%s%s%s%s", ss_outcome_word(p->summary.outcome),
            i == k->cheapest && !alone ? ", cheapest" : "", i == k->knee && !alone ? ", knee" : "",
            i == k->chosen && is_limited(c) ? ", the answer" : "",
            i == k->sure && i != k->chosen ? ", the sure answer" : "");
    if (p->batch != c->asked_batch)
        fprintf(out, ", batch %+.1f %%", 100. * (p->batch - c->asked_batch) / c->asked_batch);
    if (p->straddles)
        fprintf(out, ", groups on two %s domains", k->fabric);
}

static void write_point(const struct ss_capacity *c, int i, struct ss_grid *grid)
{
    const struct ss_capacity_point *p = &c->points[i];
    char d[32], lo[32], hi[32], hours[32], energy[32], usd[32], range[80], *verdict = NULL;
    struct ss_row r = {0};
    size_t size;

    SS_ADD(&r, SS_KEY("platform", c->clusters[p->cluster].platform), SS_SAME(p, nodes), SS_SAME(p, gpus));
    if (!(p->summary.iteration_s > 0)) {
        ss_grid_span(grid, &r, "layout", "%s: %s", ss_outcome_word(p->summary.outcome), p->summary.reason);
        return;
    }
    snprintf(range, sizeof range, "%s-%s", digits(p->time_s.low / DAY, false, lo),
             digits(p->time_s.high / DAY, false, hi));
    FILE *out = open_memstream(&verdict, &size);
    if (out)
        ss_capacity_verdict(c, i, out);
    if (!out || fclose(out)) {
        grid->lost = true;
        return;
    }
    SS_ADD(&r, SS_SAME(p, layout), SS_SAME(p, batch), SS_KEY("iteration", p->summary.iteration_s),
           SS_KEY("hours", digits(p->gpu_hours.value, true, hours)),
           SS_KEY("days", digits(p->time_s.value / DAY, false, d)),
           SS_KEY("range", isnan(p->time_s.low) ? "-" : range), SS_KEY("goodput", 100 * p->goodput),
           SS_KEY("energy", digits(p->energy_j.value / MWH, false, energy)),
           SS_KEY("usd", digits(p->usd.value, true, usd)), SS_KEY("verdict", verdict));
    ss_grid_row(grid, &r);
    free(verdict);
}

static int write_points(const struct ss_capacity *c, const struct ss_display *view, FILE *out)
{
    const struct ss_column columns[] = {{"platform", "platform", c->nclusters > 1 ? "%-s" : NULL, 1, 0},
                                        {"nodes", "nodes", "%.0f", 1, 0},
                                        {"gpus", "GPUs", "%.0f", 1, 4},
                                        {"layout", "layout", "%-s", 1, 0},
                                        {"batch", "batch", "%.0f", 1, 3},
                                        {"iteration", "iteration", "%10s", 1, 6},
                                        {"hours", "GPU-\nhours", "%8s", 1, 1},
                                        {"days", "days", "%8s", 1, 0},
                                        {"range", "90 % of\njobs", "%8s", 1, 2},
                                        {"goodput", "goodput", "%.1f%%", 1, 5},
                                        {"energy", "MWh", "%8s", 1, 3},
                                        {"usd", "USD", "%8s", 1, 0},
                                        {"verdict", "verdict", "%-s", 1, 0}};
    struct ss_grid grid;

    ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
    for (int i = 0; i < c->npoints; i++)
        write_point(c, i, &grid);
    return ss_grid_end(&grid, view, out);
}

static void write_batches(const struct ss_capacity *c, FILE *out)
{
    int n = 0;

    for (int i = 0; i < c->npoints; i++)
        n += c->points[i].summary.iteration_s > 0 && c->points[i].batch != c->asked_batch;
    if (n)
        fprintf(out,
                "%d of them train%s another batch than %d, which their GPUs do not divide, or not without "
                "losing layouts.\n",
                n, n == 1 ? "s" : "", c->asked_batch);
}

static void write_chosen(const struct ss_capacity *c, const struct ss_capacity_point *p, FILE *out)
{
    char a[32], b[32], tflops[128];

    fputs("\nOn ", out);
    write_nodes(c, p, out);
    if (c->nclusters > 1)
        fprintf(out, " of %s", c->clusters[p->cluster].platform);
    fprintf(out, ": %s\n", p->flags);
    fprintf(out, "    %.0f iterations of %s, %s, GPUs compute %.0f %% of the time\n", p->iterations,
            ss_text_time(p->summary.iteration_s, a, sizeof a),
            ss_text_tflops(&p->summary, tflops, sizeof tflops), 100 * p->busy_share);
    fprintf(out,
            "    a checkpoint of %.0f GiB every %s, written in %s; a failure every %.3g h; goodput %.1f %%\n",
            p->checkpoint_bytes / SS_GIB, ss_text_time(p->interval_s, a, sizeof a),
            ss_text_time(p->checkpoint_s, b, sizeof b), p->mtbf_s / 3600, 100 * p->goodput);
    double kw = p->energy_j.value / p->time_s.value / 1000;
    if (!isnan(kw))
        fprintf(out, "    %.*f kW in the mean, cooling included\n", kw < 1000 ? 1 : 0, kw);
}

/* Writes the chosen point of a platform, or its only one. */
static void write_cluster(const struct ss_capacity *c, int cluster, FILE *out)
{
    const struct ss_capacity_cluster *k = &c->clusters[cluster];
    int one = -1, n = 0;

    for (int i = 0; i < c->npoints; i++)
        if (c->points[i].cluster == cluster) {
            one = i;
            n++;
        }
    if (k->chosen >= 0)
        write_chosen(c, &c->points[k->chosen], out);
    else if (n == 1 && c->points[one].summary.iteration_s > 0)
        write_chosen(c, &c->points[one], out);
}

int ss_capacity_text(const struct ss_capacity *c, const struct ss_display *view, FILE *out,
                     struct ss_error *err)
{
    ss_capacity_answers(c, out);
    ss_capacity_premises(c, out);
    fputc('\n', out);
    int rc = write_points(c, view, out);
    write_batches(c, out);
    for (int k = 0; k < c->nclusters; k++)
        write_cluster(c, k, out);
    for (int k = 0; k < c->nclusters; k++) {
        fprintf(out, "\ntaken as%s%s\n", c->nclusters > 1 ? ", of " : "",
                c->nclusters > 1 ? c->clusters[k].platform : "");
        ss_capacity_inputs(c, k, out);
    }
    ss_text_notes("What would fit", &c->fixes, 20, out);
    ss_text_notes("Warnings", &c->warnings, 20, out);
    return rc ? ss_nomem(err) : ss_report_done(out, err);
}

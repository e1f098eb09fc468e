/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a plan of capacity for people. */
#include <math.h>
#include <string.h>

#include "base/base.h"
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

static int holds_any(const struct ss_capacity *c)
{
    for (int i = 0; i < c->npoints; i++)
        if (ss_capacity_holds(&c->points[i]))
            return 1;
    return 0;
}

static void write_cost(const struct ss_capacity_point *p, FILE *out)
{
    put_range(&p->time_s, DAY, false, "days", out);
    fputs(", ", out);
    put_range(&p->gpu_hours, 1, true, "GPU-hours", out);
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

/* Writes the point nearest to a deadline or budget that no number of nodes meets. */
static void write_nearest(const struct ss_capacity *c, FILE *out)
{
    const struct ss_capacity_point *best = NULL;

    for (int i = 0; i < c->npoints; i++) {
        const struct ss_capacity_point *p = &c->points[i];
        double value = c->deadline_s > 0 ? p->time_s.value : p->usd.value;
        double least = !best ? INFINITY : c->deadline_s > 0 ? best->time_s.value : best->usd.value;
        if (ss_capacity_holds(p) && value < least)
            best = p;
    }
    if (!best)
        return;
    fprintf(out, "The %s, %d node%s: ", c->deadline_s > 0 ? "fastest" : "cheapest", best->nodes,
            best->nodes == 1 ? "" : "s");
    write_cost(best, out);
}

static void write_answer(const struct ss_capacity *c, FILE *out)
{
    char a[32];
    int limited = is_limited(c);

    if (!holds_any(c)) {
        fputs("No number of nodes here holds the job.\n", out);
        return;
    }
    if (c->deadline_s >= 86400)
        snprintf(a, sizeof a, "%g day%s", c->deadline_s / 86400, c->deadline_s > 86400 ? "s" : "");
    else if (c->deadline_s > 0)
        ss_text_time(c->deadline_s, a, sizeof a);
    else
        digits(c->budget_usd, true, a);
    if (c->chosen < 0) {
        fprintf(out, "No number of nodes here is within %s%s.\n", a, c->deadline_s > 0 ? "" : " USD");
        write_nearest(c, out);
        return;
    }
    const struct ss_capacity_point *p = &c->points[c->chosen];
    if (c->deadline_s > 0)
        fprintf(out, "%d node%s is the least of these within %s: ", p->nodes, p->nodes == 1 ? "" : "s", a);
    else if (limited)
        fprintf(out, "%d node%s is the fastest of these within %s USD: ", p->nodes, p->nodes == 1 ? "" : "s",
                a);
    else
        fprintf(out, "Up to %d node%s a GPU-hour trains nearly as much as on any: ", p->nodes,
                p->nodes == 1 ? "" : "s");
    write_cost(p, out);
    if (p->summary.outcome == SS_OUTCOME_NEAR_LIMIT)
        fputs("It may not fit: the memory is near the limit.\n", out);
    if (limited && c->sure >= 0 && c->sure != c->chosen) {
        fprintf(out, "With the error of nine of ten such jobs it is %d node%s: ", c->points[c->sure].nodes,
                c->points[c->sure].nodes == 1 ? "" : "s");
        write_cost(&c->points[c->sure], out);
    }
    if (limited && c->sure < 0)
        fputs("With the error of nine of ten such jobs none of these is sure to be.\n", out);
}

static void write_head(FILE *out)
{
    fprintf(out, "%6s %6s  %-36s %6s %10s %8s %13s %9s %7s %8s %8s  %s\n", "nodes", "GPUs", "layout", "batch",
            "iteration", "days", "nine of ten", "GPU-hours", "goodput", "MWh", "USD", "verdict");
}

static void write_point(const struct ss_capacity *c, int i, FILE *out)
{
    const struct ss_capacity_point *p = &c->points[i];
    char time[32], d[32], lo[32], hi[32], hours[32], energy[32], usd[32], range[80];

    if (!(p->summary.iteration_s > 0)) {
        fprintf(out, "%6d %6d  %s: %s\n", p->nodes, p->gpus, ss_outcome_word(p->summary.outcome),
                p->summary.reason);
        return;
    }
    snprintf(range, sizeof range, "%s-%s", digits(p->time_s.low / DAY, false, lo),
             digits(p->time_s.high / DAY, false, hi));
    fprintf(out, "%6d %6d  %-36s %6d %10s %8s %13s %9s %6.1f%% %8s %8s  %s%s%s%s%s%s%s\n", p->nodes, p->gpus,
            p->layout, p->batch, ss_text_time(p->summary.iteration_s, time, sizeof time),
            digits(p->time_s.value / DAY, false, d), isnan(p->time_s.low) ? "-" : range,
            digits(p->gpu_hours.value, true, hours), 100 * p->goodput,
            digits(p->energy_j.value / MWH, false, energy), digits(p->usd.value, true, usd),
            ss_outcome_word(p->summary.outcome), i == c->cheapest ? ", cheapest" : "",
            i == c->knee ? ", knee" : "", i == c->chosen && is_limited(c) ? ", the answer" : "",
            p->straddles ? ", groups on two " : "", p->straddles ? c->fabric : "",
            p->straddles ? " domains" : "");
}

static void write_batches(const struct ss_capacity *c, FILE *out)
{
    int n = 0;

    for (int i = 0; i < c->npoints; i++)
        n += c->points[i].summary.iteration_s > 0 && c->points[i].batch != c->asked_batch;
    if (n)
        fprintf(out, "%d of them cannot divide the batch of %d: they have the nearest one that they can.\n",
                n, c->asked_batch);
}

static void write_chosen(const struct ss_capacity_point *p, FILE *out)
{
    char a[32], b[32], tflops[128];

    fprintf(out, "\nOn %d node%s: %s\n", p->nodes, p->nodes == 1 ? "" : "s", p->flags);
    fprintf(out, "    %.0f iterations of %s, %s, GPUs busy %.0f %% of one\n", p->iterations,
            ss_text_time(p->summary.iteration_s, a, sizeof a),
            ss_text_tflops(&p->summary, tflops, sizeof tflops), 100 * p->busy_share);
    fprintf(out,
            "    a checkpoint of %.0f GiB every %s, written in %s; a failure every %.3g h; goodput %.1f %%\n",
            p->checkpoint_bytes / SS_GIB, ss_text_time(p->interval_s, a, sizeof a),
            ss_text_time(p->checkpoint_s, b, sizeof b), p->mtbf_s / 3600, 100 * p->goodput);
    if (!isnan(p->energy_j.value))
        fprintf(out, "    %.4g kW in the mean, building included\n",
                p->energy_j.value / p->time_s.value / 1000);
}

static void write_inputs(const struct ss_capacity *c, FILE *out)
{
    char a[32];

    fputs("\ntaken as\n", out);
    if (c->price > 0)
        fprintf(out, "    price       %g USD an hour and GPU%s\n", c->price,
                c->price_is_example ? ", an example (ss.price.example): say yours, --price" : " (ss.price)");
    else
        fputs("    price       none: --price 2.5USD/h\n", out);
    if (c->gpu_w > 0 && c->node_w > 0)
        fprintf(out,
                "    energy      %g W a GPU with a kernel, %g of it without; %g W a node beside them; times "
                "%g for the "
                "building\n",
                c->gpu_w, c->idle, c->node_w, c->pue);
    else
        fputs("    energy      not told: the platform has no ss.power or ss.power.node\n", out);
    fprintf(out, "    failures    one in %g GPU-hours (ss.mtbf), %s until it trains again (ss.restart)\n",
            c->mtbf_h, ss_text_time(c->restart_s, a, sizeof a));
    fprintf(out, "    checkpoints %g GB/s a node (ss.storage.bandwidth), at Daly's interval\n",
            c->storage / 1e9);
}

int ss_capacity_text(const struct ss_capacity *c, FILE *out, struct ss_error *err)
{
    char tokens[32];

    write_answer(c, out);
    fprintf(out, "%s, %s tokens on %s (%s)\n\n", c->model, ss_report_count(c->tokens, tokens, sizeof tokens),
            c->platform, c->card);
    write_head(out);
    for (int i = 0; i < c->npoints; i++)
        write_point(c, i, out);
    write_batches(c, out);
    if (c->chosen >= 0)
        write_chosen(&c->points[c->chosen], out);
    else if (c->npoints == 1 && c->points[0].summary.iteration_s > 0)
        write_chosen(&c->points[0], out);
    write_inputs(c, out);
    ss_text_notes("Warnings", &c->warnings, 20, out);
    return ss_report_done(out, err);
}

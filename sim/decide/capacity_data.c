/* SPDX-License-Identifier: Apache-2.0 */
/* A plan of capacity for programs: JSON, and CSV. */
#include <math.h>

#include "base/base.h"
#include "base/csv.h"
#include "decide/capacity_internal.h"
#include "report/common.h"

/* Figures of a point beside those of its summary. X(key, value) */
#define FIGURES(X)                                                                                           \
    X("iterations", p->iterations)                                                                           \
    X("days", p->time_s.value / 86400)                                                                       \
    X("days_low", p->time_s.low / 86400)                                                                     \
    X("days_high", p->time_s.high / 86400)                                                                   \
    X("gpu_hours", p->gpu_hours.value)                                                                       \
    X("gpu_hours_low", p->gpu_hours.low)                                                                     \
    X("gpu_hours_high", p->gpu_hours.high)                                                                   \
    X("goodput", p->goodput)                                                                                 \
    X("energy_kwh", p->energy_j.value / 3.6e6)                                                               \
    X("energy_kwh_low", p->energy_j.low / 3.6e6)                                                             \
    X("energy_kwh_high", p->energy_j.high / 3.6e6)                                                           \
    X("usd", p->usd.value)                                                                                   \
    X("usd_low", p->usd.low)                                                                                 \
    X("usd_high", p->usd.high)                                                                               \
    X("busy_share", p->busy_share)                                                                           \
    X("checkpoint_gib", p->checkpoint_bytes / SS_GIB)                                                        \
    X("checkpoint_s", p->checkpoint_s)                                                                       \
    X("checkpoint_interval_s", p->interval_s)                                                                \
    X("failure_interval_h", p->mtbf_s / 3600)

static json_t *point_object(const struct ss_capacity_point *p)
{
    json_t *o = json_object();

    ss_json_integer(o, "nodes", p->nodes);
    ss_json_integer(o, "gpus", p->gpus);
    ss_json_integer(o, "global_batch", p->batch);
    ss_json_text(o, "flags", p->flags);
    ss_json_text(o, "layout", p->layout);
    ss_json_verdict(o, &p->summary);
    ss_json_flag(o, "straddles", p->straddles);
    if (!(p->summary.iteration_s > 0))
        return o;
#define X(key, value) ss_json_number(o, key, value);
    FIGURES(X)
#undef X
    for (int m = 0; m < SS_METRICS; m++)
        if (m != SS_METRIC_OF_gpus && ss_metric_known(m, &p->summary))
            ss_json_metric(o, m, &p->summary);
    return o;
}

static json_t *inputs_object(const struct ss_capacity *c)
{
    json_t *o = json_object();

    ss_json_text(o, "model", c->model);
    ss_json_text(o, "platform", c->platform);
    ss_json_text(o, "card", c->card);
    ss_json_integer(o, "global_batch", c->asked_batch);
    ss_json_text(o, "layout", c->layout == SS_CAPACITY_GIVEN ? "given" : "search");
    ss_json_number(o, "price_usd_h", c->price > 0 ? c->price : NAN);
    ss_json_flag(o, "price_is_example", c->price_is_example);
    ss_json_number(o, "gpu_w", c->gpu_w);
    ss_json_number(o, "idle_share", c->idle);
    ss_json_number(o, "node_w", c->node_w);
    ss_json_number(o, "pue", c->pue);
    ss_json_number(o, "mtbf_gpu_h", c->mtbf_h);
    ss_json_number(o, "restart_s", c->restart_s);
    ss_json_number(o, "storage_bytes_s_node", c->storage);
    return o;
}

static void put_index(json_t *o, const char *key, int index)
{
    ss_json_set(o, key, index < 0 ? json_null() : json_integer(index));
}

int ss_capacity_json(const struct ss_capacity *c, FILE *out, struct ss_error *err)
{
    json_t *root = ss_json_document("capacity"), *points = json_array();

    ss_json_number(root, "tokens", c->tokens);
    ss_json_number(root, "deadline_days", c->deadline_s > 0 ? c->deadline_s / 86400 : NAN);
    ss_json_number(root, "budget_usd", c->budget_usd > 0 ? c->budget_usd : NAN);
    put_index(root, "chosen", c->chosen);
    put_index(root, "sure", c->sure);
    put_index(root, "cheapest", c->cheapest);
    put_index(root, "knee", c->knee);
    ss_json_set(root, "inputs", inputs_object(c));
    for (int i = 0; i < c->npoints; i++)
        ss_json_append(points, point_object(&c->points[i]));
    ss_json_set(root, "points", points);
    ss_json_set(root, "warnings", ss_json_notes(&c->warnings));
    return ss_json_write(root, out, err);
}

static void put(double value, FILE *out)
{
    fputc(',', out);
    if (isfinite(value))
        fprintf(out, "%.10g", value);
}

int ss_capacity_csv(const struct ss_capacity *c, FILE *out, struct ss_error *err)
{
    fputs("nodes,global_batch,flags,layout,verdict", out);
#define X(key, value) fputs("," key, out);
    FIGURES(X)
#undef X
    for (int m = 0; m < SS_METRICS; m++)
        fprintf(out, ",%s", ss_metric_at(m)->key);
    fputc('\n', out);
    for (int i = 0; i < c->npoints; i++) {
        const struct ss_capacity_point *p = &c->points[i];
        int known = p->summary.iteration_s > 0;
        fprintf(out, "%d,%d,", p->nodes, p->batch);
        ss_csv_write(out, p->flags);
        fputc(',', out);
        ss_csv_write(out, p->layout);
        fprintf(out, ",%s", ss_outcome_word(p->summary.outcome));
#define X(key, value) put(known ? (value) : NAN, out);
        FIGURES(X)
#undef X
        for (int m = 0; m < SS_METRICS; m++)
            put(known && ss_metric_known(m, &p->summary) ? ss_metric_value(m, &p->summary) : NAN, out);
        fputc('\n', out);
    }
    return ss_report_done(out, err);
}
